// Command cluster serves a cluster for Kubernetes' e2e suite, in which Pods run with the images of package images, until
// SIGTERM:
//
//	go run ./e2e/cluster -kubeconfig FILE
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fakecluster/fakecluster/conformance/e2e/images"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "write the kubeconfig of the administrator to this `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	c, err := fakecluster.New(fakecluster.WithCompactionInterval(5 * time.Minute)) // as a real server
	if err != nil {
		return err
	}
	defer c.Close()
	w, err := workloads.New(c, append(images.Options(), workloads.Nodes(2), workloads.OnlyKnownImages())...)
	if err != nil {
		return err
	}
	content, err := c.Kubeconfig()
	if err != nil {
		return err
	}
	if err := os.WriteFile(kubeconfig, content, 0o600); err != nil {
		return err
	}
	fmt.Println("ready", c.URL())
	<-ctx.Done()
	return w.Close()
}
