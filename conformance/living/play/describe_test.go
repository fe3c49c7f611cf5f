package play

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// cluster is what a ReplicaSet with two Pods leaves, of which the second one has failed. The arguments are what differs between two
// clusters: the namespace, the suffixes of the Pods, the Node, and what the uids begin with.
func cluster(namespace, first, second, node, uid string) []string {
	pod := `{kind: Pod, metadata: {generateName: web-, name: web-%s, namespace: %s, uid: %s1111-1111-1111-1111-11111111111%d}, spec: {nodeName: %s}, status: {phase: %s, podIP: 10.1.2.%[4]d}}`
	event := `{kind: Event, metadata: {name: web-%s.1%d, namespace: %s}, involvedObject: {kind: Pod, name: web-%[1]s}, type: Normal, reason: Started, count: 1, message: Pod web-%[1]s started on %[4]s in %[2]dms (%[2]dms including waiting)}`
	return []string{
		fmt.Sprintf(pod, first, namespace, uid, 1, node, "Running"),
		fmt.Sprintf(pod, second, namespace, uid, 2, node, "Failed"),
		fmt.Sprintf(event, first, 3, namespace, node),
		fmt.Sprintf(event, second, 4, namespace, node),
		fmt.Sprintf(`{kind: EndpointSlice, metadata: {name: web, namespace: %s, generation: %d}, endpoints: [{targetRef: {name: web-%s, uid: %s1111-1111-1111-1111-111111111111}}]}`, namespace, len(first+node), first, uid),
	}
}

func text(t *testing.T, namespace string, objects []string) string {
	t.Helper()
	d := &description{namespace: namespace}
	for _, o := range objects {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(o), &object.Object); err != nil {
			t.Fatal(err)
		}
		if object.GetKind() == "Event" {
			d.events = append(d.events, object)
		} else {
			d.objects, d.seen = append(d.objects, object), append(d.seen, object)
		}
	}
	text, err := d.write()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTextsOfLikeClustersAreEqual(t *testing.T) {
	one := text(t, "history-1", cluster("history-1", "bbbbb", "ccccc", "n1", "aaaa"))
	// The names sort the other way round.
	if two := text(t, "history-2", cluster("history-2", "zzzzz", "ddddd", "n2", "bbbb")); one != two {
		t.Errorf("one cluster:\n%s\nanother cluster:\n%s", one, two)
	}
	for _, want := range []string{"Pod web-#1: Normal Started x1", "uid: <uid of Pod web-#1>\n", "nodeName: <node>\n", "podIP: <ip>\n"} {
		if !strings.Contains(one, want) {
			t.Errorf("%q is not in\n%s", want, one)
		}
	}
}

func TestTextsOfDifferentClustersDiffer(t *testing.T) {
	objects := cluster("history-1", "bbbbb", "ccccc", "n1", "aaaa")
	whole := text(t, "history-1", objects)
	for _, change := range []struct{ from, to string }{
		{"phase: Running", "phase: Pending"},
		{"count: 1", "count: 2"},
		{"reason: Started", "reason: Killing"},
		{"targetRef: {name: web-bbbbb, uid: aaaa1111-1111-1111-1111-111111111111}", "targetRef: {name: web-ccccc, uid: aaaa1111-1111-1111-1111-111111111112}"},
	} {
		var changed []string
		for _, o := range objects {
			changed = append(changed, strings.Replace(o, change.from, change.to, 1))
		}
		if text(t, "history-1", changed) == whole {
			t.Errorf("%s makes no difference", change.to)
		}
	}
	if text(t, "history-1", objects[:4]) == whole {
		t.Error("an object that is missing makes no difference")
	}
}

// Events whose number depends on milliseconds stand there once.
func TestRaces(t *testing.T) {
	lines := []string{
		"Pod web: Normal Created x1 - : c\n", "Pod web: Normal Created x2 - : c\n",
		"Pod web: Normal Pulled x1 - : image\n", "Pod web: Normal Pulled x2 - : image\n",
		`Pod web: Warning FailedScheduling x1 - : persistentvolumeclaim "data" not found` + "\n",
		"Pod web: Warning FailedScheduling x1 - : 3 Insufficient cpu\n",
		"StatefulSet db: Normal SuccessfulDelete x2 - : db-0\n", "ReplicaSet web: Normal SuccessfulDelete x1 - : web-1\n",
	}
	for i, line := range lines {
		lines[i] = withoutRace(line)
	}
	got := once(lines)
	want := "Pod web: Normal Created x1 - : c\nPod web: Normal Created x2 - : c\nPod web: Normal Pulled - : image\nPod web: Warning FailedScheduling - : 3 Insufficient cpu\n" +
		"ReplicaSet web: Normal SuccessfulDelete x1 - : web-1\nStatefulSet db: Normal SuccessfulDelete - : db-0\n"
	if strings.Join(got, "") != want {
		t.Errorf("got\n%s", strings.Join(got, ""))
	}
}
