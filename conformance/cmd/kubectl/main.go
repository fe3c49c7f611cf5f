// Command kubectl is the real one, built from k8s.io/kubectl at the version in go.mod.
package main

import (
	// Kubeconfigs may name auth plugins, as for the kubectl that is released.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
