package workloads

import (
	"fmt"
	"slices"
	"sync"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads/internal/network"
)

// allowAdmission has webhooks allow each request whose Pods are to serve them by a [Behavior], and says once for each Service that its Pods
// run no program which would answer.
func (w *Workloads) allowAdmission(notice func(string)) {
	var mu sync.Mutex
	said := map[string]bool{}
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
		first := w.runNoProgram(servers) && !said[service]
		said[service] = said[service] || first
		mu.Unlock()
		if first {
			notice(fmt.Sprintf("the webhook %s calls the Service %s, whose Pods run no program, so each call fails. "+
				"The behavior {image: %[3]q, admission: allow} has it allow everything (serve: --behavior); a program of this machine answers it as the image %[3]s (serve: --program)", call.Webhook, service, servers[0].Image))
		}
		return false
	})
}
