package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fakecluster/fakecluster/conformance/kubelet/random"
)

func main() {
	if name := os.Getenv(worldVariable); name != "" {
		inTest(name)
		return
	}
	pods := flag.Int("pods", 1000, "how many pods")
	first := flag.Int("first", 0, "the number of the first one")
	seed := flag.Uint64("seed", 1, "the seed of the pods")
	only := flag.String("only", "", "the numbers of the pods, such as 63,760, in place of -first and -pods")
	refused := flag.Bool("refused", false, "only those of the pods that ask for something that a kubelet refuses")
	update := flag.Bool("update", false, "put the result into kubelet.txt, in the place of what it says about the same pods")
	verbose := flag.Bool("v", false, "print what both agents show of each pod that differs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	started := time.Now()
	chosen, err := choose(*only, *first, *pods)
	if *refused {
		chosen = slices.DeleteFunc(chosen, func(n int) bool { return !random.Refused(*seed, n) })
	}
	var known *list
	if err == nil && *update {
		known, err = readList(listFile, *seed)
	}
	var result *result
	if err == nil {
		result, err = compare(ctx, *seed, chosen, func(d difference) {
			fmt.Printf("== p%d %s", d.pod, d)
			if *verbose {
				fmt.Printf("%s-- kubelet\n%s-- agent\n%s", d.text(), d.kubelet, d.agent)
			}
		})
	}
	if err == nil && *update {
		if err = known.update(result); err == nil {
			err = os.WriteFile(listFile, []byte(known.String()), 0o644)
		}
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

// choose returns the numbers of pods: those that are named, or else those of a range.
func choose(only string, first, pods int) (chosen []int, err error) {
	if only == "" {
		for n := range pods {
			chosen = append(chosen, first+n)
		}
		return chosen, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(name), "p"))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("-only %s: %q is not the number of a pod: write -only 63,760", only, name)
		}
		chosen = append(chosen, n)
	}
	return chosen, nil
}
