package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	if name := os.Getenv(worldVariable); name != "" {
		inTest(name)
		return
	}
	pods := flag.Int("pods", 1000, "how many pods")
	first := flag.Int("first", 0, "the number of the first one")
	seed := flag.Uint64("seed", 1, "the seed of the pods")
	update := flag.Bool("update", false, "write the result to kubelet.txt")
	verbose := flag.Bool("v", false, "print what both agents show of each pod that differs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	started := time.Now()
	result, err := compare(ctx, *seed, *first, *pods, func(d difference) {
		fmt.Printf("== %s\n%s", d.pod, d)
		if *verbose {
			fmt.Printf("-- kubelet\n%s-- agent\n%s", d.kubelet, d.agent)
		}
	})
	if err == nil && *update {
		err = os.WriteFile("kubelet.txt", []byte(result.list(*seed)), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
	fmt.Printf("%s in %v\n", result.summary(), time.Since(started).Round(time.Second))
	if result.unexplained() > 0 {
		os.Exit(1)
	}
}
