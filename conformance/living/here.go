package main

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

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
	defer func() {
		if wrong := w.Close(); wrong != nil {
			for line := range strings.Lines(wrong.Error()) {
				if !strings.Contains(line, "has applied to no container") { // Pods that a history stops before they run
					err = errors.Join(err, errors.New(line))
				}
			}
		}
	}()
	return play.Play(t.Context(), c.RESTConfig(), "history-0000", h)
}
