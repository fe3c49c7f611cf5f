package explore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/explore"
)

// The page of a run that fails shows the assertion that failed.
func TestThePageOfARunShowsItsFailedAssertion(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("FAKECLUSTER_REPORT", folder)
	found, err := explore.Find(t, func(t testing.TB, c *explore.Cluster) {
		_, _ = kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		t.Errorf("%d replicas, want 3", 1)
	})
	if err != nil || found.Failure == nil {
		t.Fatal(found, err)
	}
	pages, err := filepath.Glob(folder + "/*.html")
	if err != nil || len(pages) != 1 {
		t.Fatal(pages, err)
	}
	page, err := os.ReadFile(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `"failure":{"m":"page_test.go:21: 1 replicas, want 3","n":1}`; !strings.Contains(string(page), want) {
		t.Errorf("the page does not contain %s", want)
	}
}
