package workloads_test

import (
	"net/http"
	"testing"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestNilArgumentsAreErrors proves that an argument that is nil by mistake gets a sentence, and is not dereferenced.
func TestNilArgumentsAreErrors(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	newOf := func(c *fakecluster.Cluster, o ...workloads.Option) error {
		w, err := workloads.New(c, o...)
		if err == nil {
			err = w.Close()
		}
		return err
	}
	_, fromYAML := workloads.FromYAML(nil, []byte("nodes: 1"))
	_, executor := (&workloads.Workloads{}).NewSPDYExecutor(nil, http.MethodPost, nil)
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"the cluster of New":      {newOf(nil), "the cluster is nil: give one of fakecluster.Start or fakecluster.New"},
		"the cluster of FromYAML": {fromYAML, "the cluster is nil: give one of fakecluster.Start or fakecluster.New"},
		"an option":               {newOf(c, nil), "option 1 is nil"},
		"NodeObjects":             {newOf(c, workloads.NodeObjects(nil)), "NodeObjects: a node is nil"},
		"Image":                   {newOf(c, workloads.Nodes(1), workloads.Image("a", nil)), `Image or Command: the function of image "a" is nil`},
		"ImageFiles":              {newOf(c, workloads.Nodes(1), workloads.ImageFiles("a", nil)), `ImageFiles: the files of image "a" are nil`},
		"NewSPDYExecutor":         {executor, "NewSPDYExecutor: the configuration or the URL is nil"},
	} {
		if test.err == nil || test.err.Error() != test.want {
			t.Errorf("%s: %v, want %s", name, test.err, test.want)
		}
	}
}
