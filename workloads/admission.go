package workloads

import (
	"fmt"
	"slices"
	"sync"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
)

// allowAdmission makes the webhooks of Pods that have a [Behavior] with admission allow every request. For
// each other Service whose Pods run no program, it gives one notice that the calls fail.
func (w *Workloads) allowAdmission(notice func(string)) {
	var mu sync.Mutex
	noticed := map[string]bool{} // by service
	w.attachment.AllowAdmission(func(call fakecluster.AdmissionCall) bool {
		servers := w.network.Servers(call.Namespace, call.Service, call.Port)
		if slices.ContainsFunc(servers, func(s network.Server) bool { return s.Listens }) {
			return false
		}
		if slices.ContainsFunc(servers, func(s network.Server) bool { return w.programs.AllowsAdmission(s.Pod) }) {
			return true
		}
		service := call.Namespace + "/" + call.Service
		mu.Lock()
		first := w.runNoProgram(servers) && !noticed[service]
		noticed[service] = noticed[service] || first
		mu.Unlock()
		if first {
			notice(fmt.Sprintf("the webhook %s calls the Service %s, whose Pods run no program, so each call fails. "+
				"Let it allow everything with the behavior {image: %[3]q, admission: allow} (serve: --behavior), or run a program of this machine as the image %[3]s (serve: --program)", call.Webhook, service, servers[0].Image))
		}
		return false
	})
}
