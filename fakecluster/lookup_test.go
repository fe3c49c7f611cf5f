package fakecluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// looksUp is the name of a variable that makes TestLooksUp call a webhook, in a process of its own.
const looksUp = "FAKECLUSTER_TEST_LOOKS_UP"

// TestLooksUp is run by TestWebhooksWithNamesInBubbles.
func TestLooksUp(t *testing.T) {
	if os.Getenv(looksUp) == "" {
		t.Skip("TestWebhooksWithNamesInBubbles runs it in another process")
	}
	call := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := fakecluster.Start(t, fakecluster.InProcess())
			configure(t, c, hookConfiguration(t, c, validating, "hook", func(w *admissionregistrationv1.MutatingWebhook) {
				url := "https://hooks.onion./x" // a name that no server is asked for
				w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url}
				w.Rules[0].Resources = []string{"configmaps"}
			}))
			for range 20 {
				_, err := mapsOf(c.RESTConfig()).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
				if err == nil || !strings.Contains(err.Error(), "hooks.onion.: no suitable address found") {
					t.Fatalf("error: %v", err)
				}
			}
		})
	}
	t.Run("first", call)
	t.Run("second", call)
	for i := range 2 {
		t.Run(fmt.Sprint("parallel ", i), func(t *testing.T) {
			t.Parallel()
			call(t)
		})
	}
}

// Bubbles one after the other, and at the same time, look up the name of a webhook that does not resolve.
func TestWebhooksWithNamesInBubbles(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLooksUp$", "-test.parallel=2")
	cmd.Env = append(os.Environ(), looksUp+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v, output:\n%.3000s", err, out)
	}
}
