package workloads_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// fills returns a function that writes a file of some KiB to /data, after some seconds. Its log has the error.
func fills(after time.Duration, size int) func(context.Context, *workloads.Container) error {
	return func(ctx context.Context, c *workloads.Container) error {
		time.Sleep(after)
		err := c.WriteFile("/data/a", make([]byte, size<<10), 0o644)
		fmt.Fprintf(c.Stdout, "full %t: %v\n", errors.Is(err, syscall.ENOSPC), err)
		<-ctx.Done()
		return nil
	}
}

const limitedSpec = `
containers: [{name: app, image: app, volumeMounts: [{name: data, mountPath: /data}]}]
volumes: [{name: data, emptyDir: {sizeLimit: 1Mi}}]
`

// TestAPodIsEvictedThatExceedsTheSizeLimitOfItsVolume proves when a volume of the type emptyDir is too large, and what clients see then.
func TestAPodIsEvictedThatExceedsTheSizeLimitOfItsVolume(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("web", limitedSpec)
		w.createPod("fits", strings.Replace(limitedSpec, "image: app", "image: fits", 1))
		w.createPod("critical", limitedSpec+"priorityClassName: system-node-critical")
		w.pass(10 * time.Second)
		equal(t, "before a kubelet has measured it", field(w.object("pods", "web"), "status.phase"), "Running")
		w.pass(100 * time.Second)
		for name, want := range map[string]string{"web": "Failed", "fits": "Running", "critical": "Running"} {
			equal(t, name, field(w.object("pods", name), "status.phase"), want)
		}
		web := w.object("pods", "web")
		const message = `Usage of EmptyDir volume "data" exceeds the limit "1Mi". `
		equal(t, "the reason", field(web, "status.reason"), "Evicted")
		equal(t, "the message", field(web, "status.message"), message)
		equal(t, "the condition", condition(web, "Ready"), "False PodFailed")
		equal(t, "other conditions", condition(web, "DisruptionTarget"), "")
		for _, want := range []string{"Evicted: " + message, "Killing: Stopping container app"} {
			if events := w.events("web"); !slices.Contains(events, want) {
				t.Errorf("%q is not among the Events %q", want, events)
			}
		}
	}, workloads.Nodes(1), workloads.Image("app", fills(2*time.Second, 1025)), workloads.Image("fits", fills(2*time.Second, 1024)))
}

// TestAVolumeInMemoryIsFull proves how much a volume of the medium Memory takes.
func TestAVolumeInMemoryIsFull(t *testing.T) {
	const full, fits = "full true: write /data/a: no space left on device\n", "full false: <nil>\n"
	for _, test := range []struct {
		name, volume, resources string
		size                    int
		want                    string
	}{
		{"as large as its limit", "medium: Memory, sizeLimit: 1Mi", "", 1024, fits},
		{"larger than its limit", "medium: Memory, sizeLimit: 1Mi", "", 1025, full},
		{"as large as the memory of the container", "medium: Memory, sizeLimit: 2Mi", "limits: {memory: 1Mi}", 1024, fits},
		{"larger than the memory of the container", "medium: Memory, sizeLimit: 2Mi", "limits: {memory: 1Mi}", 1025, full},
		{"without a limit", "medium: Memory", "", 2048, fits},
		{"on disk", "{sizeLimit: 1Mi}", "", 1025, fits},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(w world) {
				w.createPod("web", strings.NewReplacer("emptyDir: {sizeLimit: 1Mi}", "emptyDir: {"+strings.Trim(test.volume, "{}")+"}",
					"image: app,", "image: app, resources: {"+test.resources+"},").Replace(limitedSpec))
				w.pass(5 * time.Second)
				equal(t, "the log", w.log("web", corev1.PodLogOptions{}), test.want)
				w.pass(200 * time.Second)
				phase := "Running"
				if test.name == "on disk" {
					phase = "Failed"
				}
				equal(t, "the phase", field(w.object("pods", "web"), "status.phase"), phase)
			}, workloads.Nodes(1), workloads.Image("app", fills(0, test.size)))
		})
	}
}

// TestAPodIsEvictedThatWritesMoreThanItsLimitOfEphemeralStorage proves which files count, and what the message says.
func TestAPodIsEvictedThatWritesMoreThanItsLimitOfEphemeralStorage(t *testing.T) {
	write := func(sizes map[string]int) func(context.Context, *workloads.Container) error {
		return func(ctx context.Context, c *workloads.Container) error {
			for name, size := range sizes {
				if name == "log" {
					for range size { // with what a runtime writes before each line
						fmt.Fprintln(c.Stdout, strings.Repeat("x", 1024-41))
					}
				} else if err := c.WriteFile(name, make([]byte, size<<10), 0o644); err != nil {
					return err
				}
			}
			<-ctx.Done()
			return nil
		}
	}
	const ofContainer = `Container app exceeded its local ephemeral storage limit "1Mi". `
	const ofPod = "Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. "
	for _, test := range []struct {
		name  string
		spec  string
		files map[string]int // KiB
		want  string         // empty: the pod runs
	}{
		{"a container at its limit", "containers: [{name: app, image: app, resources: {limits: {ephemeral-storage: 1Mi}}}]", map[string]int{"/a": 512, "/tmp/b": 512}, ""},
		{"a container above its limit", "containers: [{name: app, image: app, resources: {limits: {ephemeral-storage: 1Mi}}}, " +
			"{name: other, image: idle, resources: {limits: {ephemeral-storage: 1Mi}}}]", map[string]int{"/a": 512, "/tmp/b": 513}, ofContainer},
		{"a container without a limit", "containers: [{name: app, image: app}]", map[string]int{"/a": 4096}, ""},
		{"a volume of a pod above its limit", "containers: [{name: app, image: app, volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {ephemeral-storage: 2Mi}}}]\n" +
			"volumes: [{name: v, emptyDir: {}}]", map[string]int{"/a": 1024, "/v/b": 1025}, ofPod},
		{"the log of a container at its limit", "containers: [{name: app, image: app, resources: {limits: {ephemeral-storage: 1Mi}}}]", map[string]int{"log": 1024}, ""},
		{"the log of a container above its limit", "containers: [{name: app, image: app, resources: {limits: {ephemeral-storage: 1Mi}}}, " +
			"{name: other, image: idle, resources: {limits: {ephemeral-storage: 1Mi}}}]", map[string]int{"log": 1025}, ofContainer},
		{"the log and the files of a container above its limit", "containers: [{name: app, image: app, resources: {limits: {ephemeral-storage: 1Mi}}}, " +
			"{name: other, image: idle, resources: {limits: {ephemeral-storage: 1Mi}}}]", map[string]int{"log": 512, "/a": 513}, ofContainer},
		{"a volume in memory", "containers: [{name: app, image: app, volumeMounts: [{name: v, mountPath: /v}], resources: {limits: {ephemeral-storage: 2Mi}}}]\n" +
			"volumes: [{name: v, emptyDir: {medium: Memory}}]", map[string]int{"/a": 1024, "/v/b": 1025}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(w world) {
				w.createPod("web", test.spec)
				w.pass(200 * time.Second)
				pod := w.object("pods", "web")
				phase, reason := "Failed", "Evicted"
				if test.want == "" {
					phase, reason = "Running", ""
				}
				equal(t, "the phase", field(pod, "status.phase"), phase)
				equal(t, "the reason", field(pod, "status.reason"), reason)
				equal(t, "the message", field(pod, "status.message"), test.want)
			}, workloads.Nodes(1), workloads.Image("app", write(test.files)))
		})
	}
}
