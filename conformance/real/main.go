// Command real builds the real kube-apiserver, kube-controller-manager, kube-scheduler, etcd and kubectl from their published modules, once for
// each version, and prints the folder with them. From the folder conformance:
//
//	KUBEBUILDER_ASSETS=$(go run ./real) go test ./some/envtest/suite
//	go run ./real -version 1.35 # the real kube-apiserver of an older version, with the same etcd
//
// It downloads the modules, some hundred megabytes of sources that other parts of conformance need as
// well, and builds for some minutes; the next time it only prints the folder.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/fakecluster/fakecluster/conformance/real/programs"
)

func main() {
	older := flag.String("version", "", "the older minor `version` of kube-apiserver, such as 1.35; empty: the newest, with the other programs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	folder, err := folder(ctx, *older)
	if err != nil {
		fmt.Fprintln(os.Stderr, "real:", err)
		os.Exit(1)
	}
	fmt.Println(folder)
}

// folder returns the folder of the programs of a version.
func folder(ctx context.Context, older string) (string, error) {
	if older == "" {
		return programs.Folder(ctx, "real/modules")
	}
	return programs.Older(ctx, "real/modules", older)
}
