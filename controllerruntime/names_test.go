package controllerruntime_test

import (
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fakecluster/fakecluster/internal/bubble"
)

// The sockets of a manager are found in a stack by the names of packages and types of controller-runtime.
func TestTheSocketsOfAManagerAreNamed(t *testing.T) {
	for want, function := range map[string]string{
		"a manager serves metrics on a socket":                   reflect.TypeFor[metricsserver.Server]().PkgPath() + ".Start",
		"a manager serves webhooks on a socket":                  reflect.TypeFor[webhook.DefaultServer]().PkgPath() + ".Start",
		"a manager serves health probes or profiles on a socket": reflect.TypeFor[manager.Server]().PkgPath() + ".(*" + reflect.TypeFor[manager.Server]().Name() + ").Start",
	} {
		if got := (bubble.Blocked{Stack: function + "(0x1)"}).Mistake(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", function, got)
		}
	}
}
