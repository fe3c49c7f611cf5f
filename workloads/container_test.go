package workloads_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// TestAFunctionRunsAsAContainer proves what a function finds in its container.
func TestAFunctionRunsAsAContainer(t *testing.T) {
	var got []string
	note := func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }
	run := func(ctx context.Context, c *workloads.Container) error {
		note("%s %s %q %q %s", c.Name, c.Image, c.Command, c.Args, c.Dir)
		for _, name := range []string{"HOSTNAME", "COLOR", "WORD", "POD", "CPU", "BOTH", "KUBERNETES_SERVICE_PORT", "WEB_SERVICE_HOST"} {
			value, set := c.LookupEnv(name)
			note("%s=%s %v", name, value, set)
		}
		for _, name := range []string{"/etc/config/a", "/etc/one", "/secret/word", "/down/labels", "/etc/hostname", "/none"} {
			data, err := c.ReadFile(name)
			note("%s: %q %v", name, data, err)
		}
		note("%v", errors.Is(c.WriteFile("/etc/config/a", nil, 0o600), syscall.EROFS))
		if err := c.WriteFile("/shared/from-app", []byte(c.Name), 0o600); err != nil {
			return err
		}
		config, err := c.RESTConfig()
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		note("%s of pod %s", review.Status.UserInfo.Username, review.Status.UserInfo.Extra["authentication.kubernetes.io/pod-name"])
		<-ctx.Done()
		return nil
	}
	inBubble(t, func(w world) {
		w.post(`
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {a: first, color: red}
---
apiVersion: v1
kind: Secret
metadata: {name: secret}
stringData: {word: hunter2}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 5
  volumes:
  - {name: config, configMap: {name: config}}
  - {name: secret, secret: {secretName: secret}}
  - {name: down, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
  - {name: shared, emptyDir: {}}
  containers:
  - name: app
    image: ghcr.io/acme/operator:v1
    command: [/manager]
    args: ["--pod=$(POD)", --leader-elect]
    workingDir: /work
    envFrom: [{configMapRef: {name: config}, prefix: ""}]
    env:
    - {name: COLOR, valueFrom: {configMapKeyRef: {name: config, key: color}}}
    - {name: WORD, valueFrom: {secretKeyRef: {name: secret, key: word}}}
    - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    - {name: BOTH, value: "$(COLOR)-$(POD)-$(NONE)-$$(POD)"}
    volumeMounts:
    - {name: config, mountPath: /etc/config}
    - {name: config, mountPath: /etc/one, subPath: a}
    - {name: secret, mountPath: /secret}
    - {name: down, mountPath: /down}
    - {name: shared, mountPath: /shared}
`)
		w.pass(3 * time.Second)
		if got := field(w.object("pods", "web"), "status.phase"); got != "Running" {
			t.Errorf("the pod is %s\n%s", got, strings.Join(w.events("web"), "\n"))
		}
		if diff := cmp.Diff([]string{
			`app ghcr.io/acme/operator:v1 ["/manager"] ["--pod=web" "--leader-elect"] /work`,
			"HOSTNAME=web true", "COLOR=red true", "WORD=hunter2 true", "POD=web true", "CPU=8 true", "BOTH=red-web-$(NONE)-$(POD) true",
			"KUBERNETES_SERVICE_PORT=443 true", "WEB_SERVICE_HOST= false",
			`/etc/config/a: "first" <nil>`, `/etc/one: "first" <nil>`, `/secret/word: "hunter2" <nil>`, `/down/labels: "app=\"web\"\ntopology.kubernetes.io/region=\"region-1\"\ntopology.kubernetes.io/zone=\"region-1a\"" <nil>`,
			`/etc/hostname: "web\n" <nil>`, `/none: "" open /none: file does not exist`,
			"true",
			"system:serviceaccount:default:default of pod [web]",
		}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, workloads.Nodes(1), workloads.Image("ghcr.io/acme/operator", run))
}

// TestHowAFunctionEnds proves exit codes, termination messages, restarts and what a function is that does not end.
func TestHowAFunctionEnds(t *testing.T) {
	pod := func(name, image string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n  restartPolicy: Never\n  containers:\n"+
			"  - {name: c, image: %s, terminationMessagePolicy: FallbackToLogsOnError}\n", name, image)
	}
	image := func(name string, run func(ctx context.Context, c *workloads.Container) error) workloads.Option {
		return workloads.Image(name, run)
	}
	inBubble(t, func(w world) {
		for _, test := range []struct{ name, want string }{
			{"nil", "exitCode: 0\nmessage: done\nreason: Completed"},
			{"error", "exitCode: 1\nmessage: |\n  the disk is full\nreason: Error"},
			{"exit", "exitCode: 42\nreason: Error"},
			{"panic", "exitCode: 2\nmessage: \"panic: index out of range"},
		} {
			w.post(pod(test.name, test.name))
			w.pass(3 * time.Second)
			obj := w.object("pods", test.name)
			statuses, _ := obj.Object["status"].(map[string]any)["containerStatuses"].([]any)
			obj.Object = statuses[0].(map[string]any)["state"].(map[string]any)["terminated"].(map[string]any)
			for _, name := range []string{"containerID", "startedAt", "finishedAt"} {
				delete(obj.Object, name)
			}
			obj.Object = map[string]any{"all": obj.Object}
			got := field(obj, "all")
			if test.name == "panic" {
				if !strings.Contains(got, "exitCode: 2") || !strings.Contains(got, "container_test.go") {
					t.Errorf("%s:\n%s", test.name, got)
				}
			} else if got != test.want {
				t.Errorf("%s:\n%s\nwant\n%s", test.name, got, test.want)
			}
		}
	}, workloads.Nodes(1),
		image("nil", func(_ context.Context, c *workloads.Container) error {
			return c.WriteFile("/dev/termination-log", []byte("done"), 0o600)
		}),
		image("error", func(context.Context, *workloads.Container) error { return errors.New("the disk is full") }),
		image("exit", func(context.Context, *workloads.Container) error {
			return fmt.Errorf("wrapped: %w", workloads.Exit(42))
		}),
		image("panic", func(_ context.Context, c *workloads.Container) error {
			var none []int
			return errors.New(fmt.Sprint(none[len(c.Args)]))
		}))
}

// TestAMountedConfigMapIsUpdated proves that a container sees a change within the minute of a kubelet.
func TestAMountedConfigMapIsUpdated(t *testing.T) {
	var seen []string
	inBubble(t, func(w world) {
		w.post(`
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {a: first}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: config, configMap: {name: config}}]
  containers: [{name: c, image: app, volumeMounts: [{name: config, mountPath: /config}, {name: config, mountPath: /part, subPath: a}]}]
`)
		w.pass(10 * time.Second)
		w.patch("configmaps", "config", `{"data":{"a":"second"}}`)
		w.pass(2 * time.Minute)
		if want := []string{"first first", "second first"}; !slices.Equal(slices.Compact(seen), want) {
			t.Errorf("seen are %v, want %v", slices.Compact(seen), want)
		}
	}, workloads.Nodes(1), workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
		for ctx.Err() == nil {
			content, err := c.ReadFile("/config/a")
			if err != nil {
				return err
			}
			part, err := c.ReadFile("/part")
			if err != nil {
				return err
			}
			seen = append(seen, string(content)+" "+string(part))
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
		}
		return nil
	}))
}

// TestARestartBringsAMountedConfigMapUpToDate proves that a sync of the pod does, before the minute is over.
func TestARestartBringsAMountedConfigMapUpToDate(t *testing.T) {
	var seen []string
	inBubble(t, func(w world) {
		w.post(`
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {a: first}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: config, configMap: {name: config}}]
  containers: [{name: c, image: app, volumeMounts: [{name: config, mountPath: /config}]}]
`)
		w.pass(10 * time.Second)
		w.patch("configmaps", "config", `{"data":{"a":"second"}}`)
		w.pass(20 * time.Second)
		if want := []string{"first", "first", "second"}; !slices.Equal(seen, want) {
			t.Errorf("at the start, the end and the next start are seen %v, want %v", seen, want)
		}
	}, workloads.Nodes(1), workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
		read := func() error {
			data, err := c.ReadFile("/config/a")
			seen = append(seen, string(data))
			return err
		}
		if err := read(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
		return read()
	}))
}

// TestAProbeThatCannotRunDoesNotCount proves that a liveness probe whose program does not exist ends nothing, as on a kubelet, and that an Event says why.
func TestAProbeThatCannotRunDoesNotCount(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("db", `
containers:
- name: c
  image: postgres
  livenessProbe: {exec: {command: [pg_isready]}, periodSeconds: 5, failureThreshold: 1}
`)
		w.pass(30 * time.Second)
		if got := condition(w.object("pods", "db"), "Ready"); got != "True" {
			t.Errorf("Ready is %q", got)
		}
		if got, want := strings.Join(w.events("db"), "\n"), `: unable to start container process: exec: "pg_isready": executable file not found in $PATH: unknown`; !strings.Contains(got, "Liveness probe errored and resulted in unknown state: rpc error: ") || !strings.Contains(got, want) || strings.Contains(got, "Killing") {
			t.Errorf("the Events are\n%s\nwant one that ends with %s, and none of an end", got, want)
		}
	}, workloads.Nodes(1), workloads.Image("postgres", func(ctx context.Context, _ *workloads.Container) error {
		<-ctx.Done()
		return nil
	}))
}

// TestReadinessIsProbedUntilTheEnd proves that a container that takes its time after SIGTERM is ready as long as its probe says so.
func TestReadinessIsProbedUntilTheEnd(t *testing.T) {
	var drained atomic.Bool
	inBubble(t, func(w world) {
		w.createPod("db", `
containers:
- name: c
  image: postgres
  readinessProbe: {exec: {command: [drained]}, periodSeconds: 1, failureThreshold: 1}
`)
		w.pass(10 * time.Second)
		w.end("db")
		w.pass(5 * time.Second)
		if got := condition(w.object("pods", "db"), "Ready"); got != "True" {
			t.Errorf("five seconds after the deletion Ready is %q\n%s", got, strings.Join(w.events("db"), "\n"))
		}
		drained.Store(true)
		w.pass(2 * time.Second)
		if got := condition(w.object("pods", "db"), "Ready"); got != "False ContainersNotReady" {
			t.Errorf("when the probe fails Ready is %q\n%s", got, strings.Join(w.events("db"), "\n"))
		}
		w.pass(20 * time.Second)
	}, workloads.Nodes(1), workloads.Image("postgres", func(ctx context.Context, c *workloads.Container) error {
		c.HandleExec("drained", func(context.Context, *workloads.ExecCommand) error {
			if drained.Load() {
				return workloads.Exit(1)
			}
			return nil
		})
		<-ctx.Done()
		time.Sleep(20 * time.Second)
		return nil
	}))
}

// TestExecProbes proves that probes run programs of the container, and what failures of them do.
func TestExecProbes(t *testing.T) {
	var sick atomic.Bool
	inBubble(t, func(w world) {
		w.createPod("db", `
containers:
- name: c
  image: postgres
  readinessProbe: {exec: {command: [/usr/bin/pg_isready, -q]}, periodSeconds: 5, failureThreshold: 1}
`)
		w.pass(30 * time.Second)
		if got := condition(w.object("pods", "db"), "Ready"); got != "True" {
			t.Errorf("Ready is %q\n%s", got, strings.Join(w.events("db"), "\n"))
		}
		sick.Store(true)
		w.pass(10 * time.Second)
		if got := condition(w.object("pods", "db"), "Ready"); got != "False ContainersNotReady" {
			t.Errorf("Ready is %q", got)
		}
		if want := "Unhealthy: Readiness probe failed: no response\n"; !slices.Contains(w.events("db"), want) {
			t.Errorf("there is no event %q in %q", want, w.events("db"))
		}
	}, workloads.Nodes(1), workloads.Image("postgres", func(ctx context.Context, c *workloads.Container) error {
		c.HandleExec("pg_isready", func(_ context.Context, command *workloads.ExecCommand) error {
			if len(command.Args) != 2 || !sick.Load() {
				return nil
			}
			fmt.Fprintln(command.Stdout, "no response")
			return workloads.Exit(2)
		})
		<-ctx.Done()
		return nil
	}))
}

func TestWrongImagesAreErrors(t *testing.T) {
	run := func(context.Context, *workloads.Container) error { return nil }
	for _, test := range []struct {
		opts []workloads.Option
		want string
	}{
		{[]workloads.Option{workloads.Image("a", run), workloads.Image("a", run), workloads.Nodes(1)}, `Image or Command: image "a" has two functions or programs; leave one out`},
		{[]workloads.Option{workloads.Image("a", nil), workloads.Nodes(1)}, `Image or Command: the function of image "a" is nil`},
		{[]workloads.Option{workloads.Image("a", run)}, "Image, Command, ImageFiles and OnlyKnownImages: there are no Nodes; add Nodes(1)"},
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

// TestAFunctionThatIgnoresItsContextIsNamed proves that the container exits with 137, and that Close says why.
func TestAFunctionThatIgnoresItsContextIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		stop := make(chan struct{})
		w, err := workloads.New(c, workloads.Nodes(1), workloads.Image("app", func(context.Context, *workloads.Container) error {
			<-stop
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		pods := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default")
		createPod(t, c, "web", "containers: [{name: c, image: app}]")
		time.Sleep(10 * time.Second)
		if err := pods.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := pods.Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the pod is still there: %v", err)
		}
		close(stop)
		const want = "container c of pod default/web (image app) has not returned within 30s of SIGTERM; the function must return when its context is done"
		if err := w.Close(); err == nil || err.Error() != want {
			t.Errorf("Close returns %v, want %s", err, want)
		}
	})
}

// TestContainersServeOnTheNetwork proves that probes, other containers and the test reach what a function listens on.
func TestContainersServeOnTheNetwork(t *testing.T) {
	var sick atomic.Bool
	inBubble(t, func(w world) {
		w.post(`
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers:
  - name: c
    image: web
    ports: [{name: http, containerPort: 8080}]
    readinessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 5, failureThreshold: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  restartPolicy: OnFailure
  containers: [{name: c, image: curl, args: ["http://web/hello"]}]
`)
		w.pass(time.Minute)
		if got := field(w.object("pods", "client"), "status.phase"); got != "Succeeded" {
			t.Errorf("the client is %s\n%s", got, strings.Join(w.events("client"), "\n"))
		}
		response, err := w.HTTPClient().Get("http://web.default.svc/hello")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil || string(body) != "hello from web" {
			t.Errorf("the answer is %q, %v", body, err)
		}
		sick.Store(true)
		w.pass(30 * time.Second)
		if want := "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503"; !slices.Contains(w.events("web"), want) {
			t.Errorf("there is no event %q in %q", want, w.events("web"))
		}
		if _, err := w.HTTPClient().Get("http://web.default.svc/hello"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a Service without ready Pods: %v", err)
		}
	}, workloads.Nodes(1),
		workloads.Image("web", func(ctx context.Context, c *workloads.Container) error {
			listener, err := c.Listen("tcp", ":8080")
			if err != nil {
				return err
			}
			mux := http.NewServeMux()
			mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
				if sick.Load() {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})
			mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "hello from %s", c.Hostname) })
			server := &http.Server{Handler: mux}
			defer context.AfterFunc(ctx, func() { _ = server.Close() })()
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		}),
		workloads.Image("curl", func(ctx context.Context, c *workloads.Container) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Args[0], nil)
			if err != nil {
				return err
			}
			response, err := c.HTTPClient().Do(request)
			if err != nil {
				return err
			}
			_, err = io.Copy(c.Stdout, response.Body)
			return errors.Join(err, response.Body.Close())
		}))
}

// TestOnlyKnownImages proves that another image is not pulled, and that Close names it.
func TestOnlyKnownImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		w, err := workloads.New(c, workloads.Nodes(1), workloads.OnlyKnownImages(), workloads.Behaviors(workloads.Behavior{Image: "known"}))
		if err != nil {
			t.Fatal(err)
		}
		pods := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default")
		for _, image := range []string{"known", "other:1"} {
			createPod(t, c, image[:5], "containers: [{name: c, image: '"+image+"'}]")
		}
		time.Sleep(5 * time.Second)
		known, err := pods.Get(t.Context(), "known", metav1.GetOptions{})
		if err != nil || known.Status.Phase != corev1.PodRunning {
			t.Errorf("the known image: %v, %v", known.Status, err)
		}
		other, err := pods.Get(t.Context(), "other", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		const message = `Back-off pulling image "other:1": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/other:1": ` +
			`failed to resolve reference "docker.io/library/other:1": docker.io/library/other:1: not found`
		if waiting := other.Status.ContainerStatuses[0].State.Waiting; waiting == nil || waiting.Reason != "ImagePullBackOff" || waiting.Message != message {
			t.Errorf("the other image: %+v", other.Status.ContainerStatuses[0].State)
		}
		const want = "OnlyKnownImages: container c of pod default/other has the unknown image other:1: give it an Image or a Behavior"
		if err := w.Close(); err == nil || err.Error() != want {
			t.Errorf("Close returns %v, want %s", err, want)
		}
	})
}

// TestHowLongVolumesLive proves that an emptyDir outlives a container and a claim outlives a Pod, and neither lives longer.
func TestHowLongVolumesLive(t *testing.T) {
	var got []string
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: db}
spec:
  volumes: [{name: cache, emptyDir: {}}, {name: data, persistentVolumeClaim: {claimName: data}}]
  containers:
  - {name: c, image: app, volumeMounts: [{name: cache, mountPath: /cache}, {name: data, mountPath: /data}]}
`
	const claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
	inBubble(t, func(w world) {
		w.post(claim)
		w.post(pod)
		w.pass(5 * time.Second) // it exits once, and starts again
		w.delete("pods", "db")
		w.pass(time.Minute)
		w.post(pod)
		w.pass(5 * time.Second)
		w.delete("pods", "db")
		w.delete("persistentvolumeclaims", "data")
		w.pass(time.Minute)
		w.post(claim)
		w.post(pod)
		w.pass(5 * time.Second)
		if diff := cmp.Diff([]string{"cache - data -", "cache x data x", "cache - data xx", "cache x data xxx", "cache - data -", "cache x data x"}, got); diff != "" {
			t.Errorf("what the starts have found (-want +got):\n%s", diff)
		}
	}, workloads.Nodes(1), workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
		found := map[string]string{}
		for _, name := range []string{"cache", "data"} {
			text, err := c.ReadFile("/" + name + "/file")
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if found[name] = string(text); found[name] == "" {
				found[name] = "-"
			}
			if err := c.WriteFile("/"+name+"/file", append(text, 'x'), 0o600); err != nil {
				return err
			}
		}
		got = append(got, fmt.Sprintf("cache %s data %s", found["cache"], found["data"]))
		if found["cache"] == "-" {
			return errors.New("the cache is empty")
		}
		<-ctx.Done()
		return nil
	}))
}

// TestTokensAreRenewed proves that a container always has a token that is valid.
func TestTokensAreRenewed(t *testing.T) {
	tokens := map[string]bool{}
	inBubble(t, func(w world) {
		w.post("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: c, image: app}]\n")
		w.pass(3 * time.Hour)
		if len(tokens) != 4 { // one for each 80 % of 3607 s
			t.Errorf("there were %d tokens", len(tokens))
		}
	}, workloads.Nodes(1), workloads.Image("app", func(ctx context.Context, c *workloads.Container) error {
		config, err := c.RESTConfig()
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		for ctx.Err() == nil {
			token, err := c.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/token")
			if err != nil {
				return err
			}
			tokens[string(token)] = true
			if _, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
				return err
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Minute):
			}
		}
		return nil
	}))
}

func TestAPodFromBeforeRunHasNoToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := fakecluster.Start(t, fakecluster.InProcess(), fakecluster.WithObjects(newPod(t, "early", "containers: [{name: a, image: a}]")))
		got := make(chan error, 1)
		workloads.Run(t, c, workloads.Nodes(1), workloads.Image("a", func(ctx context.Context, p *workloads.Container) error {
			_, err := p.RESTConfig()
			got <- err
			<-ctx.Done()
			return nil
		}))
		const want = "the Pod has no ServiceAccount and no token, because it was created before workloads.Run, which turns on the " +
			"admission plugin that adds them: create it afterwards, or let a Deployment create it"
		if err := <-got; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}
