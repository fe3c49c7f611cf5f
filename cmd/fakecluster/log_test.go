package main

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	streamingruntime "k8s.io/streaming/pkg/runtime"
)

// TestOnlyOwnPackagesLog proves that the log of serve has the lines of fakecluster, and not those of Kubernetes' libraries.
func TestOnlyOwnPackagesLog(t *testing.T) {
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	var out bytes.Buffer
	logOwn(&out)
	streamingruntime.HandleError(errors.New("of a library")) // as for a program that a container does not have
	utilruntime.HandleError(errors.New("of another library"))
	klog.ErrorS(errors.New("own"), "It failed", "key", 1)
	klog.Infof("a %s", "line")
	klog.Error(errors.New("an error"))
	got := regexp.MustCompile(`([EI])\d{4} [^ ]+ +\d+ ([^:]+:)\d+\]`).ReplaceAllString(out.String(), "$1 $2")
	const want = "E log_test.go: \"It failed\" err=\"own\" key=1\nI log_test.go: \"a line\"\nE log_test.go: \"an error\"\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
