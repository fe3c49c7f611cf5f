package workloads_test

import (
	"fmt"
	"strings"
)

// node is a Node that is ready, as a kubelet has registered it. Its heartbeat is its Lease, which it does not renew.
func node(name string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {kubernetes.io/hostname: %[1]s}}
spec: {}
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "110"}
  allocatable: {cpu: "8", memory: 32Gi, pods: "110"}
  conditions: [{type: Ready, status: "True", reason: KubeletReady}]
`, name)
}

// pod is a Pod of an image, with further fields of its spec, and of a label app=NAME.
func pod(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: %[1]s}}
spec:
  containers: [{name: c, image: nginx}]
%s`, name, indent(spec))
}

// workload is an object with a template of Pods.
func workload(apiVersion, kind, name, spec string) string {
	return fmt.Sprintf(`
apiVersion: %s
kind: %s
metadata: {name: %s}
spec:
  selector: {matchLabels: {app: %[3]s}}
  template:
    metadata: {labels: {app: %[3]s}}
    spec: {containers: [{name: c, image: nginx}]}
%s`, apiVersion, kind, name, indent(spec))
}

func indent(spec string) string {
	if spec == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n"
}
