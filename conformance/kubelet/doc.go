// Command kubelet compares the node agent of package workloads with the unmodified kubelet of Kubernetes. Both run the same random pods, each in
// a testing/synctest bubble: the kubelet over a container runtime in memory (package cri), the node agent with containers that are Go functions.
// Package trace says what is compared. From the folder of the module:
//
//	go run ./kubelet                    # 1,000 pods
//	go run ./kubelet -update            # and put the result into kubelet.txt
//	go run ./kubelet -only 63 -v        # one of them, with what both agents show
//
// A kubelet waits for random times, polls, and selects at random among several things that it can do, so that it may itself treat a pod in several
// ways. A pod that differs therefore runs again, up to [repeats] times, at another fraction of a second.
//
// A kubelet leaves goroutines behind, and waits for channels of the process: so each world is a process of its own, this program itself.
package main
