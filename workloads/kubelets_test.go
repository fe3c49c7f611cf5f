package workloads_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestPodsReachKubelets proves that port 10250 of a Node answers those in the cluster as a kubelet does: with a token whose user may read the
// subresource of the Node, and with the errors of a kubelet otherwise.
func TestPodsReachKubelets(t *testing.T) {
	const token = `-H "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" `
	inBubble(t, func(w world) {
		w.post(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: scraper}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: scraper}
rules: [{apiGroups: [""], resources: [nodes/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: scraper}
subjects: [{kind: ServiceAccount, name: scraper, namespace: default}]
`)
		pod := func(name, account, command string) {
			w.createPod(name, `{serviceAccountName: `+account+`, restartPolicy: Never, containers: [{name: c, image: curl, command: [sh, -c, '`+command+`']}]}`)
		}
		pod("none", "default", `curl -sk https://172.18.0.2:10250/metrics; curl -sk -H "Authorization: Bearer nonsense" https://172.18.0.2:10250/metrics`)
		pod("stranger", "default", `curl -sk `+token+`https://172.18.0.2:10250/metrics; curl -sk `+token+`https://172.18.0.2:10250/pods`)
		pod("scraper", "scraper", `curl -sk `+token+`https://172.18.0.2:10250/metrics | grep ^kubelet_node_name; curl -sk `+token+`https://172.18.0.3:10250/metrics/resource | grep -c node_cpu; curl -sk `+token+`https://172.18.0.2:10250/healthz`)
		w.pass(20 * time.Second)
		for name, want := range map[string]string{
			"none": "UnauthorizedUnauthorized",
			"stranger": "Forbidden (user=system:serviceaccount:default:default, verb=get, resource=nodes, subresource(s)=[metrics])\n" +
				"Forbidden (user=system:serviceaccount:default:default, verb=get, resource=nodes, subresource(s)=[pods proxy])\n",
			"scraper": "kubelet_node_name{node=\"n1\"} 1\n3\nForbidden (user=system:serviceaccount:default:scraper, verb=get, resource=nodes, subresource(s)=[healthz proxy])\n",
		} {
			log, err := w.client.CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(w.Context())
			if err != nil || string(log) != want {
				t.Errorf("the log of %s is %q, %v, want %q", name, log, err, want)
			}
		}
	}, workloads.Nodes(2))
}
