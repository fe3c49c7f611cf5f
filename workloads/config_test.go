package workloads_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// configFile writes a file for ConfigFile.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigFilesDescribeAllThatLives(t *testing.T) {
	path := configFile(t, `
nodes: 2
behaviors: [{image: nginx, neverReady: true}]
controllers: ["*", "-job-controller"]
scheduler: {profiles: [{schedulerName: mine}]}
`)
	inBubble(t, func(w world) {
		w.create(pod("web", "schedulerName: mine") + "---\n" + job("once", ""))
		w.pass(10 * time.Second)
		if n := len(w.list("nodes")); n != 2 {
			w.Errorf("there are %d Nodes", n)
		}
		if got := condition(w.object("pods", "web"), "Ready"); got != "False ContainersNotReady" {
			w.Errorf("the condition of the Pod is %q", got)
		}
		if n := len(w.list("pods")); n != 1 {
			w.Errorf("there are %d Pods, so that the Job has one", n)
		}
	}, workloads.ConfigFile(path))
}

func TestConfigFilesHaveThreeNodesByDefault(t *testing.T) {
	inBubble(t, func(w world) {
		zones := map[string]int{}
		for _, n := range w.list("nodes") {
			zones[n.GetLabels()["topology.kubernetes.io/zone"]]++
		}
		if len(zones) != 2 || zones["region-1a"] != 2 || zones["region-1b"] != 1 {
			w.Errorf("the zones are %v", zones)
		}
	}, workloads.ConfigFile(configFile(t, "controllers: []\nscheduler: false\n")))
}

func TestWrongConfigFilesAreErrors(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	for _, test := range []struct {
		name, text string
		opts       []workloads.Option
		want       string // in the error
	}{
		{"a mistake", "nodes: 0", nil, "w.yaml:1:8: give at least one node"},
		{"nodes twice", "nodes: 1", []workloads.Option{workloads.Nodes(1)}, "w.yaml has nodes, and the option Nodes is given, too; leave one of them out"},
		{"behaviors twice", "behaviors: [{}]", []workloads.Option{workloads.Behaviors()}, "w.yaml has behaviors, and the option Behaviors is given, too; leave one of them out"},
		{"no scheduler twice", "scheduler: false", []workloads.Option{workloads.WithoutScheduler()}, "w.yaml has scheduler, and the option WithoutScheduler is given, too; leave one of them out"},
		{"an unknown controller", "controllers: [deployment]", nil, `Controllers: there is no controller "deployment"; there are certificatesigningrequest-approving-controller, `},
		{"an unknown field of the scheduler", "scheduler: {profile: []}", nil, `w.yaml: scheduler: strict decoding error: unknown field "profile"`},
		{"an impossible node", "nodes: [{metadata: {name: a}, status: {capacity: {cpu: -1}}}]", nil, "node a: capacity of cpu is negative: -1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, err := workloads.New(c, append(test.opts, workloads.ConfigFile(configFile(t, test.text)))...)
			if err == nil {
				t.Fatalf("there is none; %v", w.Close())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("it is %q, and lacks %q", err, test.want)
			}
		})
	}
	if _, err := workloads.New(c, workloads.ConfigFile("none.yaml")); err == nil || err.Error() != "ConfigFile: open none.yaml: no such file or directory" {
		t.Errorf("the error of a missing file is %v", err)
	}
}
