package workloads_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// endOf returns how the first container of a Pod has ended.
func (w world) endOf(pod string) string {
	w.Helper()
	p, err := w.client.CoreV1().Pods("default").Get(w.Context(), pod, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range append(p.Status.ContainerStatuses, p.Status.InitContainerStatuses...) {
		if t := s.State.Terminated; t != nil {
			return fmt.Sprintf("%s %d after %v", t.Reason, t.ExitCode, t.FinishedAt.Sub(t.StartedAt.Time))
		}
	}
	return string(p.Status.Phase)
}

// TestKnownCommandsAreRun proves that a container whose command is known has the log, the exit code and the time that the command has.
func TestKnownCommandsAreRun(t *testing.T) {
	const refused = "curl: (7) Failed to connect to web port 81: Could not connect to server\n"
	inBubble(t, func(w world) {
		for i, c := range []struct{ command, end, log string }{
			{`[sh, -c, "echo hello; exit 3"]`, "Error 3 after 0s", "hello\n"},
			{`[sh, -c, "for i in 1 2; do echo $i; sleep 2; done"]`, "Completed 0 after 4s", "1\n2\n"},
			{`["false"]`, "Error 1 after 0s", ""},
			{`[sleep, "5"]`, "Completed 0 after 5s", ""},
			{`[sh, -c, "test -f /var/run/secrets/kubernetes.io/serviceaccount/token && echo $KUBERNETES_SERVICE_HOST $(hostname)"]`, "Completed 0 after 0s", "10.0.0.1 c4\n"},
			{`[wget, -qO-, "http://web"]`, "Completed 0 after 0s", "served\n"},
			{`[wget, -qO-, "http://none"]`, "Error 1 after 0s", "wget: bad address 'none'\n"},
			{`[sh, -c, "curl -sf http://web/missing"]`, "Error 22 after 0s", ""},
			{`[curl, "http://web:81"]`, "Error 7 after 0s", refused},
			{`[curl, --retry, "2", --retry-connrefused, "http://web:81"]`, "Error 7 after 3s",
				refused + "Warning: Problem: connection refused. Will retry in 1 second. 2 retries left.\n" +
					refused + "Warning: Problem: connection refused. Will retry in 2 seconds. 1 retry left.\n" + refused},
			{`[curl, -sS, --retry, "1", --retry-connrefused, "http://web:81"]`, "Error 7 after 1s", refused + refused},
			{`[curl, -sf, --retry, "1", --retry-delay, "5", "http://web/busy"]`, "Error 22 after 5s", ""},
			{`[curl, -s, -u, "ann:secret", "http://web/user"]`, "Completed 0 after 0s", "ann:secret\n"},
			{`[nslookup, none]`, "Error 1 after 0s", "Server:\t\t10.0.0.10\nAddress:\t10.0.0.10:53\n\n** server can't find none.default.svc.cluster.local: NXDOMAIN\n"},
			{`[nc, -zv, web, "80"]`, "Completed 0 after 0s", ""},
			{`[sh, -c, "nginx -t"]`, "Completed 0 after 1s", ""}, // unknown: it is not run
		} {
			name := fmt.Sprint("c", i)
			if i == 0 {
				w.createPod("server", "containers: [{name: c, image: server, ports: [{containerPort: 80}]}]")
				w.patch("pods", "server", `{"metadata": {"labels": {"app": "web"}}}`)
				w.post("apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{name: a, port: 80}, {name: b, port: 81}]}")
				w.pass(10 * time.Second)
			}
			w.createPod(name, "restartPolicy: Never\ncontainers: [{name: c, image: busybox, command: "+c.command+"}]")
			w.pass(20 * time.Second)
			equal(w.T, c.command, w.endOf(name), c.end)
			got := w.log(name, corev1.PodLogOptions{})
			if c.log != "" || !strings.Contains(c.command, "nc") {
				equal(w.T, "the log of "+c.command, got, c.log)
			}
		}
	}, workloads.Nodes(1), workloads.Image("server", func(ctx context.Context, c *workloads.Container) error {
		l, err := c.Listen("tcp", ":80")
		if err != nil {
			return err
		}
		server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				fmt.Fprintln(rw, "served")
			case "/busy":
				rw.WriteHeader(http.StatusServiceUnavailable)
			case "/user":
				user, password, _ := r.BasicAuth()
				fmt.Fprintf(rw, "%s:%s\n", user, password)
			default:
				http.NotFound(rw, r)
			}
		})}
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		_ = server.Serve(l)
		return nil
	}))
}

// TestImagesOfCurlRunCurl proves that the arguments of a container are those of the entrypoint of its image, where that is known.
func TestImagesOfCurlRunCurl(t *testing.T) {
	const resolve = "curl: (6) Could not resolve host: none\n"
	inBubble(t, func(w world) {
		for i, c := range []struct{ container, end, log string }{
			{`image: curlimages/curl, args: [-sS, "http://none"]`, "Error 6 after 0s", resolve},
			{`image: "docker.io/curlimages/curl:8.16.0", args: ["http://none"]`, "Error 6 after 0s", resolve},
			{`image: curlimages/curl, args: [curl, -sS, "http://none"]`, "Error 6 after 0s", resolve},
			{`image: quay.io/curl/curl, args: [sh, -c, "echo $0; exit 3"]`, "Error 3 after 0s", "sh\n"},
			{`image: curlimages/curl, command: [echo], args: [-sS]`, "Completed 0 after 0s", "-sS\n"},
			{`image: curlimages/curl`, "Error 2 after 0s", "curl: no URL specified\n"},
			{`image: other/curl, args: [-sS, "http://none"]`, "Completed 0 after 1s", ""}, // it is not run
		} {
			name := fmt.Sprint("c", i)
			w.createPod(name, "restartPolicy: Never\ncontainers: [{name: c, "+c.container+"}]")
			w.pass(20 * time.Second)
			equal(w.T, c.container, w.endOf(name), c.end)
			equal(w.T, "the log of "+c.container, w.log(name, corev1.PodLogOptions{}), c.log)
		}
	}, workloads.Nodes(1))
}

// TestWhatIsNotRunIsSaid proves that a Pod which completes without its program says so, once for each image.
func TestWhatIsNotRunIsSaid(t *testing.T) {
	var said []string
	inBubble(t, func(w world) {
		for _, name := range []string{"a", "b"} {
			w.createPod(name, "restartPolicy: Never\ncontainers: [{name: c, image: migrate}]")
			w.pass(5 * time.Second)
		}
		w.createPod("known", "restartPolicy: Never\ncontainers: [{name: c, image: busybox, command: [sleep, '1']}]")
		w.createPod("decided", "restartPolicy: Never\ncontainers: [{name: c, image: decided}]")
		w.createPod("server", "containers: [{name: c, image: server}]")
		w.pass(5 * time.Second)
		const sentence = "the program of the image migrate is not run: the container completes with exit code 0. " +
			"Give it a function, a program of this machine or a behavior"
		w.isLogged("a", "ProgramNotRun: fakecluster: "+sentence)
		if len(said) != 1 || said[0] != "container c of pod default/a: "+sentence {
			w.Errorf("it says %q", said)
		}
	}, workloads.Nodes(1), workloads.Notices(func(s string) { said = append(said, s) }), workloads.Behaviors(workloads.Behavior{Image: "decided", RunTime: time.Second}))
}

// TestAnInitContainerWaitsForAService proves that the loop of the Kubernetes documentation ends when the Service exists.
func TestAnInitContainerWaitsForAService(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("app", `
initContainers: [{name: wait, image: busybox, command: [sh, -c, "until nslookup mydb.default.svc.cluster.local; do echo waiting for mydb; sleep 2; done"]}]
containers: [{name: c, image: nginx}]`)
		w.pass(time.Minute)
		equal(w.T, "the phase", w.endOf("app"), "Pending")
		w.post("apiVersion: v1\nkind: Service\nmetadata: {name: mydb}\nspec: {ports: [{port: 80}]}")
		w.pass(5 * time.Second)
		equal(w.T, "the phase", field(w.object("pods", "app"), "status.phase"), "Running")
	}, workloads.Nodes(1))
}

// TestProbesOfKnownCommands proves that the example of the documentation for liveness probes restarts, and that a probe of a port at which
// nothing listens fails.
func TestProbesOfKnownCommands(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("liveness", `containers: [{name: c, image: busybox, args: [/bin/sh, -c, "touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600"],
  livenessProbe: {exec: {command: [cat, /tmp/healthy]}, initialDelaySeconds: 5, periodSeconds: 5}}]`)
		w.createPod("port", `containers: [{name: c, image: busybox, command: [sleep, "3600"], readinessProbe: {tcpSocket: {port: 80}, periodSeconds: 1}}]`)
		w.pass(30 * time.Second)
		w.pass(60 * time.Second)
		w.isLogged("liveness", "Unhealthy: Liveness probe failed: cat: /tmp/healthy: No such file or directory\n")
		w.isLogged("liveness", "Killing: Container c failed liveness probe, will be restarted")
		w.isLogged("port", "Unhealthy: Readiness probe failed: dial tcp 10.244.0.2:80: connect: connection refused")
	}, workloads.Nodes(1))
}

// TestScriptsInVolumes proves that a script of a ConfigMap runs if everything in it is known, and that another one does not.
func TestScriptsInVolumes(t *testing.T) {
	inBubble(t, func(w world) {
		w.post(`apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data:
  run.sh: |
    #!/bin/sh
    set -eu
    . /scripts/library.sh
    trap 'say bye; exit 5' TERM
    case "${1:-}" in
    serve) say "serves $((40 + 2))"; tail -f /dev/null & wait ;;
    *) say "runs"; exit 4 ;;
    esac
  library.sh: |
    say() { echo "$(hostname): $*"; }
  server.sh: exec /server`)
		for _, c := range []struct{ name, command string }{{"file", "[sh, /scripts/run.sh]"}, {"path", "[/scripts/run.sh, serve]"}, {"unknown", "[sh, /scripts/server.sh]"}} {
			w.createPod(c.name, "restartPolicy: Never\ncontainers: [{name: c, image: busybox, command: "+c.command+
				", volumeMounts: [{name: v, mountPath: /scripts}]}]\nvolumes: [{name: v, configMap: {name: scripts}}]")
		}
		w.pass(20 * time.Second)
		equal(w.T, "the end", w.endOf("file"), "Error 4 after 0s")
		equal(w.T, "the log", w.log("file", corev1.PodLogOptions{}), "file: runs\n")
		equal(w.T, "the end", w.endOf("unknown"), "Completed 0 after 1s")
		w.isLogged("unknown", "ProgramNotRun: fakecluster: the program of the image busybox is not run: the container completes with exit code 0. "+
			"Give it a function, a program of this machine or a behavior")
		w.patch("pods", "path", `{"metadata": {"finalizers": ["example.com/kept"]}}`)
		if err := w.client.CoreV1().Pods("default").Delete(w.Context(), "path", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		w.pass(5 * time.Second)
		equal(w.T, "the end", w.endOf("path"), "Error 5 after 22s")
		equal(w.T, "the log", w.log("path", corev1.PodLogOptions{}), "path: serves 42\npath: bye\n")
		w.patch("pods", "path", `{"metadata": {"finalizers": null}}`)
	}, workloads.Nodes(1))
}

// TestAnInitContainerCopiesFromItsImage proves that an init container which copies a program of its image into a volume completes, whether the image has
// files or not, and that one which copies what is in no image fails.
func TestAnInitContainerCopiesFromItsImage(t *testing.T) {
	inBubble(t, func(w world) {
		for _, image := range []string{"flannel", "plugins"} {
			w.createPod(image, `
volumes: [{name: v, emptyDir: {}}]
initContainers: [{name: install, image: `+image+`, command: [cp, -f, /flannel, /opt/cni/bin/flannel], volumeMounts: [{name: v, mountPath: /opt/cni/bin}]}]
containers: [{name: c, image: busybox, command: [sh, -c, "cat /opt/flannel; sleep 600"], volumeMounts: [{name: v, mountPath: /opt}]}]`)
		}
		w.createPod("tmp", `{restartPolicy: Never, containers: [{name: c, image: busybox, command: [cp, /tmp/none, /opt]}]}`)
		w.pass(20 * time.Second)
		for pod, want := range map[string]string{"flannel": "Running", "plugins": "Running", "tmp": "Failed"} {
			w.check("the phase of "+pod, field(w.object("pods", pod), "status.phase"), want)
		}
		for pod, want := range map[string]string{"flannel": "cat: /opt/flannel: No such file or directory\n", "plugins": "a program\n"} {
			log, err := w.client.CoreV1().Pods("default").GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(w.Context())
			if err != nil || string(log) != want {
				t.Errorf("the log of %s is %q, %v, want %q", pod, log, err, want)
			}
		}
		w.isLogged("flannel", "ProgramNotRun: fakecluster: the program of the image flannel is not run: the container completes with exit code 0. Give it a function, a program of this machine or a behavior")
	}, workloads.Nodes(1), workloads.ImageFiles("plugins", fstest.MapFS{"flannel": {Data: []byte("a program\n")}}))
}

// TestTheHostnameOfAPod proves that a container has the full name of its Pod as its hostname if setHostnameAsFQDN says so.
func TestTheHostnameOfAPod(t *testing.T) {
	inBubble(t, func(w world) {
		for _, c := range []struct{ name, spec, want string }{
			{"plain", "", "plain plain\n"},
			{"sub", "subdomain: db", "sub sub\n"},
			{"full", "subdomain: db\nsetHostnameAsFQDN: true", "full.db.default.svc.cluster.local full.db.default.svc.cluster.local\n"},
			{"alone", "setHostnameAsFQDN: true", "alone alone\n"},
		} {
			w.createPod(c.name, c.spec+"\nrestartPolicy: Never\ncontainers: [{name: c, image: busybox, command: [sh, -c, 'echo $(hostname) $(cat /etc/hostname)']}]")
			w.pass(10 * time.Second)
			equal(w.T, c.name, w.log(c.name, corev1.PodLogOptions{}), c.want)
		}
	}, workloads.Nodes(1))
}
