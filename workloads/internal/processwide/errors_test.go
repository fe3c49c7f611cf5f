package processwide_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	cloudnode "k8s.io/cloud-provider/controllers/node"
	"k8s.io/klog/v2"
	nodeutil "k8s.io/kubernetes/pkg/controller/util/node"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/fakecluster/fakecluster/workloads/internal/processwide"
)

// newHandler is a variable, so that its function is not inlined here and keeps its name.
var newHandler = nodeutil.CreateAddNodeHandler

// An error of a function of upstream's controllers is not logged, and one of another caller is: so the handler that logs is found by its
// name, and the controllers by theirs.
func TestErrorsOfControllersAreNotLogged(t *testing.T) {
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	klog.LogToStderr(false)
	var log bytes.Buffer
	klog.SetOutput(&log)
	newHandler(func(*corev1.Node) error { return errors.New("of a controller") })(&corev1.Node{})
	klog.Flush()
	if log.Len() > 0 {
		t.Errorf("logged: %s", log.String())
	}
	utilruntime.HandleError(errors.New("of another caller"))
	klog.Flush()
	if !strings.Contains(log.String(), "of another caller") {
		t.Errorf("logged: %q", log.String())
	}
}

func TestThePackagesOfControllersExist(t *testing.T) {
	for _, one := range []reflect.Type{reflect.TypeFor[scheduler.Scheduler](), reflect.TypeFor[cloudnode.CloudNodeController]()} {
		if path := one.PkgPath() + "."; !processwide.IsController(path) {
			t.Errorf("%s is not the package of a controller", path)
		}
	}
}
