package workloads_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestProfilesThatANodeDoesNotHave proves that a container whose profile of the type Localhost is missing is not created, with the messages of containerd, and that
// it starts when somebody writes the file of its seccomp profile to the node.
func TestProfilesThatANodeDoesNotHave(t *testing.T) {
	inBubble(t, func(w world) {
		w.createPod("seccomp", `{securityContext: {seccompProfile: {type: Localhost, localhostProfile: profiles/audit.json}}, containers: [{name: c, image: app},
  {name: privileged, image: app, securityContext: {privileged: true}}, {name: default, image: app, securityContext: {seccompProfile: {type: RuntimeDefault}}}]}`)
		w.createPod("apparmor", `{containers: [{name: c, image: app, securityContext: {appArmorProfile: {type: Localhost, localhostProfile: deny-write}}},
  {name: default, image: app, securityContext: {appArmorProfile: {type: RuntimeDefault}}}]}`)
		w.pass(20 * time.Second)
		for pod, want := range map[string]string{
			"seccomp":  `failed to create containerd container: cannot load seccomp profile "/var/lib/kubelet/seccomp/profiles/audit.json": open /var/lib/kubelet/seccomp/profiles/audit.json: no such file or directory`,
			"apparmor": "failed to get container spec opts: failed to generate apparmor spec opts: apparmor profile not found deny-write",
		} {
			statuses := field(w.object("pods", pod), "status.containerStatuses")
			if got := strings.Count(statuses, "reason: CreateContainerError"); got != 1 {
				t.Errorf("%d containers of %s are not created:\n%s", got, pod, statuses)
			}
			w.isLogged(pod, "Failed: Error: "+want)
		}
		w.createPod("installer", `{restartPolicy: Never, volumes: [{name: v, hostPath: {path: /var/lib/kubelet/seccomp/profiles, type: DirectoryOrCreate}}],
  containers: [{name: c, image: busybox, command: [sh, -c, "echo {} > /profiles/audit.json"], volumeMounts: [{name: v, mountPath: /profiles}]}]}`)
		w.pass(40 * time.Second)
		w.check("the phase", field(w.object("pods", "seccomp"), "status.phase"), "Running")
		w.check("Ready", condition(w.object("pods", "seccomp"), "Ready"), "True")
		w.check("Ready", condition(w.object("pods", "apparmor"), "Ready"), "False ContainersNotReady")
	}, workloads.Nodes(1))
}
