package workloads_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

var site = fstest.MapFS{
	"index.html":   {Data: []byte("hello"), Mode: 0o644},
	"css/main.css": {Data: []byte("body"), Mode: 0o444},
}

func TestAnImageIsAVolume(t *testing.T) {
	var got []string
	say := func(v any, err error) {
		switch {
		case errors.Is(err, syscall.EROFS):
			got = append(got, "read-only")
		case errors.Is(err, fs.ErrNotExist):
			got = append(got, "missing")
		case err != nil:
			got = append(got, err.Error())
		default:
			got = append(got, v.(string))
		}
	}
	inBubble(t, func(w world) {
		w.createPod("web", `
volumes:
- {name: site, image: {reference: "acme.io/site:2"}}
- {name: empty, image: {reference: "acme.io/other:1"}}
containers:
- name: c
  image: app:1
  volumeMounts: [{name: site, mountPath: /site}, {name: site, mountPath: /css, subPath: css}, {name: empty, mountPath: /empty}]
`)
		w.pass(10 * time.Second)
		want := []string{"hello", "body", "read-only", "missing", "1.0", "2.0", "1.0"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what the function has seen, twice (-want +got):\n%s", diff)
		}
		var pulls []string
		for _, e := range w.events("web") {
			if strings.HasPrefix(e, "Pulling") || strings.HasPrefix(e, "Pulled") {
				text, _, _ := strings.Cut(e, " in ")
				pulls = append(pulls, text)
			}
		}
		slices.Sort(pulls)
		if diff := cmp.Diff([]string{
			`Pulled: Container image "acme.io/other:1" already present on machine and can be accessed by the pod`,
			`Pulled: Container image "acme.io/site:2" already present on machine and can be accessed by the pod`,
			`Pulled: Container image "app:1" already present on machine and can be accessed by the pod`,
			`Pulled: Successfully pulled image "acme.io/other:1"`, `Pulled: Successfully pulled image "acme.io/site:2"`, `Pulled: Successfully pulled image "app:1"`,
			`Pulling: Pulling image "acme.io/other:1"`, `Pulling: Pulling image "acme.io/site:2"`, `Pulling: Pulling image "app:1"`,
		}, pulls); diff != "" {
			t.Errorf("the Events (-want +got):\n%s", diff)
		}
	}, workloads.Nodes(1), workloads.ImageFiles("acme.io/site", site),
		workloads.ImageFiles("app", fstest.MapFS{"etc/version": {Data: []byte("1.0"), Mode: 0o644}}),
		workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
			read := func(name string) {
				data, err := c.ReadFile(name)
				say(string(data), err)
			}
			if len(got) == 0 {
				read("/site/index.html")
				read("/css/main.css")
				say("written", c.WriteFile("/site/index.html", nil, 0o644))
				read("/empty/index.html")
				read("/etc/version")
				say("2.0", c.WriteFile("/etc/version", []byte("2.0"), 0o644))
				return errors.New("again")
			}
			read("/etc/version") // a new start has the files of the image
			<-ctx.Done()
			return nil
		}))
}

// TestAnImageThatCannotBeAVolume proves what a Pod shows whose image volume is not there.
func TestAnImageThatCannotBeAVolume(t *testing.T) {
	const other = `, {name: other, image: "app:1"}`
	for _, test := range []struct {
		name, volume, mount string
		other               string // another container
		after               time.Duration
		reason, message     string
		events              []string // those of interest
	}{
		{"it cannot be pulled", `{reference: "acme.io/broken:1"}`, "", "", 600 * time.Millisecond, "ErrImagePull", "no such host", []string{
			"Failed: Error: ErrImagePull", `Failed: Failed to pull image "acme.io/broken:1": no such host`,
		}},
		{"it is pulled again later", `{reference: "acme.io/broken:1"}`, "", other, 8 * time.Second, "ImagePullBackOff",
			`Back-off pulling image "acme.io/broken:1": ErrImagePull: no such host`, []string{
				`BackOff: Back-off pulling image "acme.io/broken:1"`, "Failed: Error: ErrImagePull", "Failed: Error: ImagePullBackOff",
				`Failed: Failed to pull image "acme.io/broken:1": no such host`,
			}},
		{"it is never pulled", `{reference: "acme.io/broken:1", pullPolicy: Never}`, "", other, 2 * time.Second, "ErrImageNeverPull",
			`Container image "acme.io/broken:1" is not present with pull policy of Never`, []string{
				`ErrImageNeverPull: Container image "acme.io/broken:1" is not present with pull policy of Never`, "Failed: Error: ErrImageNeverPull",
			}},
		{"it lacks the part that is mounted", `{reference: "acme.io/site:1"}`, ", subPath: none", other, 2 * time.Second, "CreateContainerError",
			`ImageVolumeMountFailed: the image of volume "site" has no none`, []string{`Failed: Error: ImageVolumeMountFailed: the image of volume "site" has no none`}},
	} {
		options := []workloads.Option{workloads.Nodes(1), workloads.ImageFiles("acme.io/site", site),
			workloads.Image("app", func(ctx context.Context, _ *workloads.Container) error { <-ctx.Done(); return nil })}
		if strings.Contains(test.volume, "broken") {
			options = append(options, workloads.Behaviors(workloads.Behavior{Image: "acme.io/broken", PullError: "no such host"}))
		}
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(w world) {
				w.createPod("web", `
volumes: [{name: site, image: `+test.volume+`}]
containers: [{name: c, image: "app:1", volumeMounts: [{name: site, mountPath: /site`+test.mount+`}]}`+test.other+`]
`)
				w.pass(test.after)
				pod, err := w.client.CoreV1().Pods("default").Get(w.Context(), "web", metav1.GetOptions{})
				if err != nil {
					w.Fatal(err)
				}
				if waiting := pod.Status.ContainerStatuses[0].State.Waiting; waiting == nil || waiting.Reason != test.reason || waiting.Message != test.message {
					w.Errorf("the container that mounts it: %v, want %s: %s", waiting, test.reason, test.message)
				}
				for _, other := range pod.Status.ContainerStatuses[1:] {
					if other.State.Running == nil {
						w.Errorf("the other container: %v", other.State)
					}
				}
				var events []string
				for _, e := range w.events("web") {
					if strings.HasPrefix(e, "Failed") || strings.HasPrefix(e, "BackOff") || strings.HasPrefix(e, "ErrImage") {
						events = append(events, e)
					}
				}
				slices.Sort(events)
				if diff := cmp.Diff(test.events, slices.Compact(events)); diff != "" {
					w.Errorf("the Events (-want +got):\n%s", diff)
				}
			}, options...)
		})
	}
}

// TestOnlyKnownImagesAreVolumes proves that files make an image known, and what becomes of other ones.
func TestOnlyKnownImagesAreVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess())
		w, err := workloads.New(c, workloads.Nodes(1), workloads.OnlyKnownImages(), workloads.ImageFiles("site", site))
		if err != nil {
			t.Fatal(err)
		}
		pods := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default")
		phases := map[string]corev1.PodPhase{"site": corev1.PodRunning, "other": corev1.PodPending}
		for image := range phases {
			createPod(t, c, image, `
volumes: [{name: v, image: {reference: `+image+`}}]
containers: [{name: c, image: "site:1", volumeMounts: [{name: v, mountPath: /v}]}]
`)
		}
		time.Sleep(5 * time.Second)
		for image, want := range phases {
			if pod, err := pods.Get(t.Context(), image, metav1.GetOptions{}); err != nil || pod.Status.Phase != want {
				t.Errorf("the Pod with the volume %s is %s, want %s: %v", image, pod.Status.Phase, want, err)
			}
		}
		const want = "OnlyKnownImages: a volume of pod default/other has the unknown image other: give it an Image or a Behavior"
		if err := w.Close(); err == nil || err.Error() != want {
			t.Errorf("Close returns %v, want %s", err, want)
		}
	})
}

func TestWrongImageFilesAreErrors(t *testing.T) {
	for _, test := range []struct {
		opts []workloads.Option
		want string
	}{
		{[]workloads.Option{workloads.ImageFiles("a", site), workloads.ImageFiles("a", site), workloads.Nodes(1)}, `ImageFiles: image "a" has files twice; leave one out`},
		{[]workloads.Option{workloads.ImageFiles("a", nil), workloads.Nodes(1)}, `ImageFiles: the files of image "a" are nil`},
		{[]workloads.Option{workloads.ImageFiles("", site), workloads.Nodes(1)}, `ImageFiles: the name of an image is empty`},
		{[]workloads.Option{workloads.ImageFiles("[", site), workloads.Nodes(1)}, `ImageFiles: image "[" is not a pattern of path.Match: syntax error in pattern`},
		{[]workloads.Option{workloads.ImageFiles("a", site)}, "Image, Command, ImageFiles and OnlyKnownImages: there are no Nodes; add Nodes(1)"},
		{[]workloads.Option{workloads.ImageFiles("a", fstest.MapFS{"pipe": {Mode: fs.ModeNamedPipe}}), workloads.Nodes(1)},
			`ImageFiles: the files of image "a": pipe is neither a file nor a directory`},
	} {
		w, err := workloads.New(newCluster(t), test.opts...)
		if err == nil {
			t.Fatalf("there is no error; %v", w.Close())
		}
		if err.Error() != test.want {
			t.Errorf("the error is %q, want %q", err, test.want)
		}
	}
}
