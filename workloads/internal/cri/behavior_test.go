package cri

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fakecluster/fakecluster/internal/testing/compare"
)

func TestImpossibleBehaviorsAreRejected(t *testing.T) {
	for _, test := range []struct {
		behavior Behavior
		want     string
	}{
		{Behavior{Name: "["}, `the behavior of name [: Name "[" is not a pattern of path.Match: syntax error in pattern`},
		{Behavior{RunTime: -1}, "the behavior of every container: the field RunTime is -1ns; it must not be negative"},
		{Behavior{Owner: "web"}, `the behavior of owner web: the field Owner is "web"; write "Kind/name", such as "Deployment/web"`},
		{Behavior{Image: "a", Jitter: 2}, "the behavior of image a: the field Jitter is 2; it must be between 0 and 1"},
		{Behavior{Failures: 1}, "the behavior of every container: the field Failures limits failures: set ExitCode, OOMKilled or UnhealthyAfter, too"},
		{Behavior{Forever: true, RunTime: 1}, "the behavior of every container: the field Forever excludes RunTime, ExitCode and OOMKilled; leave one of them out"},
		{Behavior{ExitCode: ptr.To(int32(256))}, "the behavior of every container: the field ExitCode is 256; it must be between 0 and 255"},
		{Behavior{TerminationExitCode: ptr.To(int32(-1))}, "the behavior of every container: the field TerminationExitCode is -1; it must be between 0 and 255"},
	} {
		if _, err := newBehaviors([]Behavior{test.behavior}, nil); err == nil || err.Error() != test.want {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
}

func TestCommandsAreUnderstood(t *testing.T) {
	for _, test := range []struct {
		words []string
		want  command
		ok    bool
	}{
		{nil, command{}, false},
		{[]string{"nginx"}, command{}, false},
		{[]string{"/bin/true"}, command{}, true},
		{[]string{"false"}, command{code: 1}, true},
		{[]string{"exit", "3"}, command{code: 3}, true},
		{[]string{"sleep", "5"}, command{runTime: 5 * time.Second}, true},
		{[]string{"sleep", "1.5m"}, command{runTime: 90 * time.Second}, true},
		{[]string{"sleep", "infinity"}, command{forever: true}, true},
		{[]string{"sleep", "1e30"}, command{forever: true}, true},
		{[]string{"sleep", "1e400"}, command{forever: true}, true},
		{[]string{"sleep", "nan"}, command{}, false},
		{[]string{"sleep", "soon"}, command{}, false},
		{[]string{"sh", "-c", "sleep 36000d; sleep 36000d; sleep 36000d; sleep 36000d"}, command{runTime: 2 * 36000 * 24 * time.Hour, forever: true}, true},
		{[]string{"sh", "-c", "exit 7"}, command{code: 7}, true},
		{[]string{"/bin/sh", "-ec", "sleep 2; echo done && exit 4"}, command{runTime: 2 * time.Second, code: 4}, true},
		{[]string{"sh", "-c", "false || exit 2"}, command{code: 2}, true},
		{[]string{"sh", "-c", "false && exit 2"}, command{code: 1}, true},
		{[]string{"sh", "-c", "true\nsleep 1\nsleep 1"}, command{runTime: 2 * time.Second}, true},
		{[]string{"sh", "-c", "while true; do sleep 1; done"}, command{forever: true}, true},
		{[]string{"sh", "-c", "echo a > /data/b"}, command{}, false},
		{[]string{"sh", "-c", "nginx; exit 1"}, command{}, false},
		{[]string{"tail", "-f", "/dev/null"}, command{forever: true}, true},
	} {
		got, ok := parseCommand(&corev1.Container{Command: test.words})
		if got != test.want && ok || ok != test.ok {
			t.Errorf("%q is %+v, %t; want %+v, %t", test.words, got, ok, test.want, test.ok)
		}
	}
}

func TestJitterFollowsFromTheSeed(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	c := &corev1.Container{Name: "c"}
	b := &Behavior{ReadyDelay: time.Second, Jitter: 0.5}
	seen := map[time.Duration]bool{}
	for seed := range uint64(20) {
		p := planFor(seed, b, pod, c, Main, 0)
		if p.readyAfter != planFor(seed, b, pod, c, Main, 0).readyAfter {
			t.Errorf("seed %d leads to two delays", seed)
		}
		if p.readyAfter < 500*time.Millisecond || p.readyAfter > 1500*time.Millisecond {
			t.Errorf("seed %d leads to %s, not between 0.5s and 1.5s", seed, p.readyAfter)
		}
		seen[p.readyAfter] = true
	}
	if len(seen) < 15 {
		t.Errorf("20 seeds lead to %d delays", len(seen))
	}
}

// TestWhatSIGTERMDoes proves how containers end that are stopped before they have completed.
func TestWhatSIGTERMDoes(t *testing.T) {
	sleep := &corev1.Container{Name: "c", Command: []string{"sleep", "600"}}
	unknown := &corev1.Container{Name: "c", Image: "train"}
	never := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever}
	always := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways}
	shared := never
	shared.ShareProcessNamespace = ptr.To(true)
	for _, test := range []struct {
		name      string
		spec      corev1.PodSpec
		container *corev1.Container
		kind      ContainerKind
		behavior  *Behavior
		deaf      bool
		code      int32
	}{
		{"sleep as the first process is killed after its grace", never, sleep, Main, nil, true, 0},
		{"so it is in a Pod that restarts", always, sleep, Main, nil, true, 0},
		{"it dies where the processes of a Pod are one namespace", shared, sleep, Main, nil, false, 143},
		{"an unknown program that runs to completion dies", never, unknown, Main, nil, false, 143},
		{"an init container dies", always, unknown, Init, nil, false, 143},
		{"a server shuts down", always, unknown, Main, nil, false, 0},
		{"a sidecar shuts down", never, unknown, Sidecar, nil, false, 0},
		{"a behavior handles it", never, unknown, Main, &Behavior{TerminationExitCode: ptr.To(int32(0))}, false, 0},
		{"a behavior handles it in place of sleep", never, sleep, Main, &Behavior{TerminationExitCode: ptr.To(int32(7))}, false, 7},
	} {
		p := planFor(0, test.behavior, &corev1.Pod{Spec: test.spec}, test.container, test.kind, 0)
		if p.ignoresTerm != test.deaf || p.terminationCode != test.code {
			t.Errorf("%s: it ignores the signal: %t, it exits with %d", test.name, p.ignoresTerm, p.terminationCode)
		}
	}
}

// A Pod that were gone in no time could be replaced by one of its name before a controller has seen it end. The disruption
// controller takes the new one for the old one then, for two minutes.
func TestContainersTakeTimeToEnd(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	for seed := range uint64(20) {
		if d := planFor(seed, nil, pod, &corev1.Container{Name: "c"}, Main, 0).terminationDelay; d < 10*time.Millisecond || d > 50*time.Millisecond {
			t.Errorf("seed %d leads to %s, not between 10ms and 50ms", seed, d)
		}
	}
	b := &Behavior{TerminationDelay: time.Second}
	if d := planFor(0, b, pod, &corev1.Container{Name: "c"}, Main, 0).terminationDelay; d != time.Second {
		t.Errorf("the container takes %s to end, not as the behavior says", d)
	}
}

// TestAnUnknownImageIsRefused proves that OnlyKnownImages refuses an image and reports it once, and that Report may be nil.
func TestAnUnknownImageIsRefused(t *testing.T) {
	pod, spec := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, &corev1.Container{Name: "c", Image: "web:1"}
	var reports []string
	for _, report := range []func(error){nil, func(err error) { reports = append(reports, err.Error()) }} {
		p, err := New(Config{OnlyKnownImages: true, Report: report})
		if err != nil {
			t.Fatal(err)
		}
		const want = `rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/web:1": ` +
			`failed to resolve reference "docker.io/library/web:1": docker.io/library/web:1: not found`
		for range 2 {
			if got := p.Plan(pod, spec, Main, 0).PullError; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
	compare.Equal(t, "the reports", reports, []string{
		"OnlyKnownImages: container c of pod shop/web has the unknown image web:1: give it an Image or a Behavior",
	})
}
