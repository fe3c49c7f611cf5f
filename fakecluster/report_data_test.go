package fakecluster_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// The page names the objects that requests have created, and has all findings in full length.
func TestThePageIsComplete(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	cfg := c.RESTConfig()
	cfg.UserAgent = "operator"
	long := strings.Repeat("x", 240)
	for i := range 12 {
		_, err := mapsOf(cfg).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("a-%d", i), Labels: map[string]string{fmt.Sprintf("%s-%d", long, i): "y"}}}, metav1.CreateOptions{})
		if err == nil {
			t.Fatal("the label is valid")
		}
	}
	_, err := mapsOf(cfg).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "made"}}, metav1.CreateOptions{})
	must(t, err)
	path, err := c.WriteReport(t.TempDir(), "page")
	must(t, err)
	content, err := os.ReadFile(path)
	must(t, err)
	page := string(content)
	if !strings.Contains(page, `"o":"configmaps default/made"`) {
		t.Error("the request does not have the name of the object that it created")
	}
	if n := strings.Count(page, "name part must be no more than 63 bytes"); n != 2*12 { // once in each request, once in its finding
		t.Errorf("the reason is in the page %d times, want 24", n)
	}
}
