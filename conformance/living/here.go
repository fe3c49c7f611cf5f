package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/conformance/living/history"
	"github.com/fakecluster/fakecluster/conformance/living/play"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// playHere plays a history in a fakecluster, in a bubble.
func playHere(t *testing.T, h history.History) (text string, err error) {
	played := t.Run(h.Name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { text, err = playInBubble(t, h) })
	})
	if !played {
		return "", errors.Join(err, errors.New("the cluster has failed its test, as printed"))
	}
	return text, err
}

// playInBubble does that in the bubble of t.
func playInBubble(t *testing.T, h history.History) (text string, err error) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	w, err := workloads.New(c, workloads.Nodes(history.Nodes), workloads.Behaviors(h.Behaviors()...))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, mistakes(w.Close())) }()
	return play.Play(t.Context(), c.RESTConfig(), "history-0000", h, func(ctx context.Context, node string, how history.Fault) error {
		n, err := w.Node(node)
		if err != nil {
			return err
		}
		return breakNode(ctx, n, how)
	})
}

// mistakes returns the errors of workloads, except for behaviors of Pods that a history stops before they run.
func mistakes(wrong error) (err error) {
	if wrong == nil {
		return nil
	}
	for line := range strings.Lines(wrong.Error()) {
		if !strings.Contains(line, "has applied to no container") {
			err = errors.Join(err, errors.New(line))
		}
	}
	return err
}

// breakNode does it to a Node of a fakecluster.
func breakNode(ctx context.Context, n *workloads.Node, how history.Fault) error {
	switch how {
	case history.StopHeartbeats:
		return n.StopHeartbeats(ctx)
	case history.ResumeHeartbeats:
		return n.ResumeHeartbeats(ctx)
	case history.DiskIsFull, history.DiskIsFree:
		return n.SetPressure(ctx, corev1.NodeDiskPressure, how == history.DiskIsFull)
	}
	return fmt.Errorf("no Node breaks by %q", how)
}
