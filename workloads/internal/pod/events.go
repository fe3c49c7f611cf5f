package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/fakecluster/fakecluster/workloads/internal/recorder"
)

// podEvents records the Events of upstream's code about pods, which calls only these methods.
type podEvents struct {
	record.EventRecorderLogger
	ctx      context.Context
	recorder *recorder.Recorder
}

// WithLogger implements record.EventRecorderLogger.
func (e podEvents) WithLogger(klog.Logger) record.EventRecorderLogger { return e }

// Event implements record.EventRecorder.
func (e podEvents) Event(object runtime.Object, eventType, reason, message string) {
	if pod, ok := object.(*corev1.Pod); ok {
		e.recorder.Pod(e.ctx, pod, eventType, reason, "%s", message)
	}
}
