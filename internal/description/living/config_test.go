package living

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFilesAreReadStrictly(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"an unknown field", "node: 3", `f.yaml:1:1: unknown field "node" (allowed: behaviors, controlPlane, controllers, nodes, programs, provisioners, scheduler)`},
		{"a list", "[nodes]", "f.yaml:1:1: this must be a mapping with some of behaviors, controlPlane, controllers, nodes, programs, provisioners, scheduler"},
		{"a field twice", "nodes: 1\nnodes: 2", "f.yaml:2:1: nodes is given twice, first on line 1"},
		{"text that is not YAML", "nodes: 1\n- a", "f.yaml:1: not YAML: did not find expected key"},
		{"two documents", "nodes: 1\n---\nnodes: 2", "f.yaml: this must be one YAML document"},
		{"no nodes", "nodes: 0", "f.yaml:1:8: give at least one node"},
		{"nodes in words", "nodes: three", "f.yaml:1:8: this must be a number of nodes, such as 3, or a list of Node objects"},
		{"an unknown field of a node", "nodes:\n- metadata: {name: a}\n  spec: {taint: []}", "f.yaml:3:10: unknown field \"taint\" (allowed: configSource, externalID, podCIDR, podCIDRs, podPreemptionPolicy, providerID, taints, unschedulable)"},
		{"a quantity that is none", "nodes:\n- status: {capacity: {cpu: much}}", "f.yaml:2:28: quantities must match the regular expression"},
		{"an unknown field of a behavior", "behaviors:\n- image: a\n- {image: b, crash: true}", "f.yaml:3:14: unknown field \"crash\" (allowed: admission, container, exitCode, failures, forever, image, jitter, labels, log, message, name, namespace, neverReady, oomKilled, owner, pullDelay, pullError, readyDelay, runTime, service, startDelay, startError, terminationDelay, terminationExitCode, unhealthyAfter, usage)"},
		{"a value of another type", "behaviors: [{neverReady: 'yes'}]", "f.yaml:1:26: this must be a boolean (true or false), not a string"},
		{"a duration without a unit", "behaviors: [{readyDelay: 5}]", "f.yaml:1:26: this must be a string, not a number"},
		{"an impossible behavior", "behaviors: [{image: a, jitter: 2}]", "f.yaml:1:13: the behavior of image a: the field Jitter is 2; it must be between 0 and 1"},
		{"behaviors by name", "behaviors: {web: {}}", "f.yaml:1:12: this must be a list of behaviors"},
		{"an admission that is neither", "behaviors: [{image: a, admission: deny}]", `f.yaml:1:13: the behavior of image a: the field Admission is "deny"; write "allow", or leave it out`},
		{"programs by name", "programs: {web: ./web}", "f.yaml:1:11: this must be a list of programs"},
		{"a program without a path", "programs:\n- {image: a, path: b}\n- image: web", "f.yaml:3:3: a program needs an image and a path, such as {image: ghcr.io/acme/operator, path: ./bin/manager}"},
		{"an unknown field of a program", "programs: [{image: a, path: b, env: []}]", `f.yaml:1:32: unknown field "env" (allowed: args, image, path)`},
		{"controllers by number", "controllers: [1]", "f.yaml:1:15: this must be a string, not a number"},
		{"a scheduler by name", "scheduler: mine", "f.yaml:1:12: this must be false, for no scheduler, or a KubeSchedulerConfiguration"},
		{"a mark", "behaviors: [{image: !absent }]", "f.yaml:1:21: the mark !absent cannot be used here"},
		{"an alias of itself", "behaviors: [&a {labels: {x: *a}}]", "f.yaml:1:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadFile("f.yaml", []byte(test.text))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("the error is\n%v\nwant\n%s", err, test.want)
			}
		})
	}
}

func TestAllMistakesAreFound(t *testing.T) {
	_, err := ReadFile("f.yaml", []byte("nodes: 0\nbehaviors: [{crash: 1}, {jitter: 3}]\n"))
	if err == nil || strings.Count(err.Error(), "f.yaml:") != 3 {
		t.Errorf("the error is %v, want three mistakes", err)
	}
}

func TestFilesAreRead(t *testing.T) {
	const text = `
nodes: &nodes
- metadata: {name: a, labels: {gpu: "yes"}}
  spec: {taints: [{key: gpu, effect: NoSchedule}]}
  status: {capacity: {cpu: 2, memory: 4Gi}}
behaviors:
- {image: web, readyDelay: 1m30s, jitter: 0.2, usage: {cpu: 100m}, exitCode: 3}
provisioners: [ebs.csi.aws.com]
controlPlane: true
programs: [{image: tool, path: bin/tool, args: [-v]}]
controllers: []
scheduler: {percentageOfNodesToScore: 100}
`
	c, err := ReadFile("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	n := c.Nodes.Objects[0]
	if n.Name != "a" || n.Labels["gpu"] != "yes" || n.Spec.Taints[0].Key != "gpu" || n.Status.Capacity.Cpu().Value() != 2 {
		t.Errorf("the node is %+v", n)
	}
	if b := c.Behaviors[0]; b.ReadyDelay != 90*time.Second || *b.ExitCode != 3 || b.Usage.Cpu().MilliValue() != 100 {
		t.Errorf("the behavior is %+v", b)
	}
	if c.Controllers == nil || string(c.Scheduler.Config) != `{"percentageOfNodesToScore":100}` {
		t.Errorf("controllers are %v, the scheduler is %s", c.Controllers, c.Scheduler.Config)
	}

	// Written as JSON, it reads the same.
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadFile("f.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Errorf("after a round trip (-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "# nothing\n", "nodes: 5", "scheduler: false"} {
		if c, err := ReadFile("f.yaml", []byte(text)); err != nil || c.Nodes.Objects != nil || c.Behaviors != nil {
			t.Errorf("%q is %+v, %v", text, c, err)
		}
	}
}

func TestPathsOfProgramsBeginAtTheFolderOfTheFile(t *testing.T) {
	c := &Config{Programs: []Program{{Path: "./tool"}, {Path: "/bin/tool"}, {Path: "tool"}}}
	if err := c.Resolve("/etc/x/f.yaml"); err != nil {
		t.Fatal(err)
	}
	want := []Program{{Path: "/etc/x/tool"}, {Path: "/bin/tool"}, {Path: "tool"}}
	if diff := cmp.Diff(want, c.Programs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestABehaviorIsReadFromText(t *testing.T) {
	b, err := ReadBehavior("{service: web, admission: allow}")
	if err != nil || b.Service != "web" || b.Admission != AllowAdmission {
		t.Errorf("%+v, %v", b, err)
	}
	for text, want := range map[string]string{
		"":           "the behavior is empty; write one such as {image: web, readyDelay: 20s}",
		"{crash: 1}": `unknown field "crash"`,
		"web":        "this must be a mapping with some of",
		"{image: a":  "yaml: ",
	} {
		if _, err := ReadBehavior(text); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %s", text, err, want)
		}
	}
}
