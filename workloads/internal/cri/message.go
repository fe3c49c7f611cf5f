package cri

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// The limits of termination messages from logs.
const (
	logMessageBytes = 2048
	logMessageLines = 80
)

// MessageOfLog returns the termination message of a container that has written none: the end of the log if it has failed
// and its policy is FallbackToLogsOnError.
func MessageOfLog(spec *corev1.Container, log *stdio.Log, code int32) string {
	if code == 0 || spec.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		return ""
	}
	lines := strings.SplitAfter(log.End(logMessageBytes), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return strings.Join(lines[max(0, len(lines)-logMessageLines):], "")
}
