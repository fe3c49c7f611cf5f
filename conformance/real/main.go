// Command real builds the real kube-apiserver, kube-controller-manager, kube-scheduler, etcd and kubectl from their published modules, once for
// each version, and prints the folder with them. From the folder conformance:
//
//	KUBEBUILDER_ASSETS=$(go run ./real) go test ./some/envtest/suite
//
// It downloads the modules, some hundred megabytes of sources that other parts of conformance need as
// well, and builds for some minutes; the next time it only prints the folder.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/fakecluster/fakecluster/conformance/real/programs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	folder, err := programs.Folder(ctx, "real/modules")
	if err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		os.Exit(1)
	}
	fmt.Println(folder)
}
