package cri

import (
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// TestTheEndOfALogAsTerminationMessage proves when it is used, and its limits: 80 lines and 2048 bytes.
func TestTheEndOfALogAsTerminationMessage(t *testing.T) {
	const fallback = corev1.TerminationMessageFallbackToLogsOnError
	lines := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "%d\n", i)
		}
		return b.String()
	}
	for _, test := range []struct {
		name   string
		policy corev1.TerminationMessagePolicy
		code   int32
		log    string
		want   string
	}{
		{"a failure", fallback, 1, "a\nb\n", "a\nb\n"},
		{"a signal", fallback, 137, "a\n", "a\n"},
		{"a success", fallback, 0, "a\n", ""},
		{"the policy File", corev1.TerminationMessageReadFile, 1, "a\n", ""},
		{"no log", fallback, 1, "", ""},
		{"no newline at the end", fallback, 1, "a\nb", "a\nb"},
		{"80 lines", fallback, 1, lines(0, 100), lines(20, 100)},
		{"2048 bytes", fallback, 1, strings.Repeat("x", 3000) + "\n", strings.Repeat("x", 2047) + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			log := stdio.NewLog()
			if _, err := io.WriteString(log.Writer(stdio.Stdout), test.log); err != nil {
				t.Fatal(err)
			}
			log.Close()
			if got := MessageOfLog(&corev1.Container{TerminationMessagePolicy: test.policy}, log, test.code); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
