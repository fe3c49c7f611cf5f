package workloads_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/internal/testing/seedtest"
	"github.com/fakecluster/fakecluster/workloads/internal/controlplane"
)

// TestEachControllerActs proves for each controller that it runs, has what it needs, and may do its work.
func TestEachControllerActs(t *testing.T) {
	cases := []struct {
		name string // of the controller, and the rule
		test func(w world)
	}{
		{"deployment-controller: a rollout has a ReplicaSet and Events", func(w world) {
			w.create(workload("apps/v1", "Deployment", "web", "replicas: 2"))
			sets := w.list("replicasets.apps")
			if len(sets) != 1 || field(&sets[0], "spec.replicas") != "2" {
				w.Fatalf("the ReplicaSets are %v", sets)
			}
			w.isLogged("web", "ScalingReplicaSet: Scaled up replica set "+sets[0].GetName()+" from 0 to 2")
		}},
		{"replicaset-controller: it creates the Pods, with an Event for each", func(w world) {
			w.create(workload("apps/v1", "ReplicaSet", "web", "replicas: 3"))
			if n := len(w.list("pods")); n != 3 {
				w.Errorf("there are %d Pods", n)
			}
			if n := len(w.events("web")); n != 3 {
				w.Errorf("there are %d Events: %v", n, w.events("web"))
			}
		}},
		{"replicationcontroller-controller: it creates the Pods", func(w world) {
			w.create(strings.Replace(workload("v1", "ReplicationController", "old", "replicas: 2"), "matchLabels: {app: old}", "app: old", 1))
			if n := len(w.list("pods")); n != 2 {
				w.Errorf("there are %d Pods", n)
			}
		}},
		{"statefulset-controller: the first Pod comes alone, with its claim", func(w world) {
			w.create(workload("apps/v1", "StatefulSet", "db", `
replicas: 2
volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]`))
			if pods := w.list("pods"); len(pods) != 1 || pods[0].GetName() != "db-0" {
				w.Errorf("the Pods are %v", pods)
			}
			w.object("persistentvolumeclaims", "data-db-0")
		}},
		{"daemonset-controller: each Node has a Pod", func(w world) {
			w.create(node("n1") + "---\n" + node("n2") + "---\n" + workload("apps/v1", "DaemonSet", "log", ""))
			if got := field(w.object("daemonsets.apps", "log"), "status.desiredNumberScheduled"); got != "2" {
				w.Errorf("%s Nodes have to have a Pod", got)
			}
		}},
		{"job-controller: the Job completes with its Pod", func(w world) {
			w.create(job("once", ""))
			w.finish()
			if got := condition(w.object("jobs.batch", "once"), "Complete"); got != "True CompletionsReached" {
				w.Errorf("the condition is %q", got)
			}
		}},
		{"cronjob-controller: Jobs come by the schedule", func(w world) {
			w.create(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: hourly}
spec:
  schedule: "0 * * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: nginx}]}}}}`)
			w.pass(150 * time.Minute)
			if n := len(w.list("jobs.batch")); n != 2 {
				w.Errorf("there are %d Jobs after two and a half hours", n)
			}
		}},
		{"ttl-after-finished-controller: a finished Job goes", func(w world) {
			w.create(job("once", "ttlSecondsAfterFinished: 60"))
			w.finish()
			w.pass(50 * time.Second)
			w.object("jobs.batch", "once")
			w.pass(10 * time.Second)
			if w.find("jobs.batch", "once") != nil || len(w.list("pods")) > 0 {
				w.Error("the Job or its Pod is still there")
			}
		}},
		{"horizontal-pod-autoscaler-controller: without metrics the condition says so", func(w world) {
			w.create(workload("apps/v1", "Deployment", "web", "replicas: 1") + `---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]`)
			w.pass(time.Minute)
			if got := condition(w.object("horizontalpodautoscalers.autoscaling", "web"), "ScalingActive"); got != "False FailedGetResourceMetric" {
				w.Errorf("the condition is %q", got)
			}
		}},
		{"disruption-controller: a budget counts healthy Pods", func(w world) {
			w.create(ready("web") + `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 0, selector: {matchLabels: {app: web}}}`)
			budget := w.object("poddisruptionbudgets.policy", "web")
			if got := field(budget, "status.disruptionsAllowed") + " " + field(budget, "status.currentHealthy"); got != "1 1" {
				w.Errorf("allowed and healthy are %s", got)
			}
		}},
		{"endpoints-controller: ready Pods are endpoints", func(w world) {
			w.create(service + "---\n" + ready("web"))
			if got := field(w.object("endpoints", "web"), "subsets"); !strings.Contains(got, "ip: 10.0.0.1") {
				w.Errorf("the subsets are %s", got)
			}
		}},
		{"endpointslice-controller: ready Pods are endpoints", func(w world) {
			w.create(node("n1") + "---\n" + service + "---\n" + ready("web"))
			slices := w.list("endpointslices.discovery.k8s.io")
			if i := indexOf(slices, "web-"); i < 0 || !strings.Contains(field(&slices[i], "endpoints"), "- 10.0.0.1") {
				w.Errorf("the slices are %v", slices)
			}
		}},
		{"endpointslice-mirroring-controller: Endpoints without a selector have slices", func(w world) {
			w.create(`
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: outside}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]`)
			slices := w.list("endpointslices.discovery.k8s.io")
			if i := indexOf(slices, "outside-"); i < 0 || slices[i].GetLabels()["endpointslice.kubernetes.io/managed-by"] != "endpointslicemirroring-controller.k8s.io" {
				w.Errorf("the slices are %v", slices)
			}
		}},
		{"service-cidr-controller: a range is ready", func(w world) {
			w.create(`
apiVersion: networking.k8s.io/v1
kind: ServiceCIDR
metadata: {name: more}
spec: {cidrs: [10.9.0.0/16]}`)
			if got := condition(w.object("servicecidrs.networking.k8s.io", "more"), "Ready"); got != "True" {
				w.Errorf("the condition is %q", got)
			}
		}},
		{"service-lb-controller: a LoadBalancer Service gets an address", func(w world) {
			w.create(balanced("web", ""))
			if got := w.addresses("web"); got != "192.0.2.1" {
				w.Errorf("the address is %s", got)
			}
		}},
		{"node-lifecycle-controller: a Node without heartbeats is not ready", func(w world) {
			w.create(node("n1"))
			w.pass(38 * time.Second)
			if got := condition(w.object("nodes", "n1"), "Ready"); got != "True KubeletReady" {
				w.Errorf("after 40 s the condition is %q", got)
			}
			w.pass(30 * time.Second)
			n := w.object("nodes", "n1")
			if got := condition(n, "Ready"); got != "Unknown NodeStatusUnknown" {
				w.Errorf("after 70 s the condition is %q", got)
			}
			if got := field(n, "spec.taints"); !strings.Contains(got, "node.kubernetes.io/unreachable") {
				w.Errorf("the taints are %s", got)
			}
		}},
		{"taint-eviction-controller: Pods leave it after five minutes", func(w world) {
			w.create(node("n1") + "---\n" + node("n2") + "---\n" + ready("web"))
			w.heartbeat("n2")
			w.pass(5 * time.Minute)
			if w.object("pods", "web").GetDeletionTimestamp() != nil {
				w.Error("the Pod is deleted before it has been unreachable for 300 s")
			}
			w.pass(2 * time.Minute)
			if w.object("pods", "web").GetDeletionTimestamp() == nil {
				w.Error("the Pod is not deleted")
			}
			w.isLogged("web", "TaintManagerEviction: Marking for deletion Pod default/web")
			w.isLogged("n1", "NodeNotReady: Node n1 status is now: NodeNotReady")
		}},
		{"ttl-controller: a Node has its annotation", func(w world) {
			w.create(node("n1"))
			if got := w.object("nodes", "n1").GetAnnotations()["node.alpha.kubernetes.io/ttl"]; got != "0" {
				w.Errorf("the annotation is %q", got)
			}
		}},
		{"pod-garbage-collector-controller: Pods of a Node that is gone fail, and go", func(w world) {
			w.create(node("n1") + "---\n" + ready("web"))
			w.delete("nodes", "n1")
			w.pass(39 * time.Second)
			w.object("pods", "web")
			w.pass(21 * time.Second)
			if w.find("pods", "web") != nil {
				w.Error("the Pod is still there")
			}
			if failed := w.requests("pod-garbage-collector", "patch", "pods/status"); failed != 1 {
				w.Errorf("it has failed %d times before", failed)
			}
		}},
		{"persistentvolume-binder-controller: a claim gets its volume", func(w world) {
			w.create(volume + "---\n" + claim)
			w.pass(15 * time.Second)
			if got := field(w.object("persistentvolumeclaims", "data"), "status.phase"); got != "Bound" {
				w.Errorf("the claim is %s", got)
			}
			if got := field(w.object("persistentvolumes", "pv"), "spec.claimRef.name"); got != "data" {
				w.Errorf("the volume is bound to %q", got)
			}
		}},
		{"persistentvolume-expander-controller: a claim that grows waits for the driver of its class", func(w world) {
			grows := strings.Replace(claim, "spec: {", "spec: {storageClassName: grows, ", 1)
			w.create("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: grows}, provisioner: example.com/disk, allowVolumeExpansion: true}\n---\n" +
				strings.Replace(volume, "spec: {", "spec: {storageClassName: grows, ", 1) + "---\n" + grows)
			w.pass(15 * time.Second) // until it is bound
			w.patch("persistentvolumeclaims", "data", `{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}`)
			w.pass(time.Second)
			w.isLogged("data", "ExternalExpanding: waiting for an external controller to expand this PVC")
		}},
		{"ephemeral-volume-controller: a Pod gets a claim of its own", func(w world) {
			w.create(pod("web", `
volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]`))
			w.object("persistentvolumeclaims", "web-scratch")
		}},
		{"persistentvolumeclaim-protection-controller: a claim goes when no Pod uses it", func(w world) {
			w.create(claim + "---\n" + pod("web", "nodeName: n1\nvolumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"))
			w.delete("persistentvolumeclaims", "data")
			w.object("persistentvolumeclaims", "data")
			w.delete("pods", "web")
			if w.find("persistentvolumeclaims", "data") != nil {
				w.Error("the claim is still there")
			}
		}},
		{"persistentvolume-protection-controller: a volume that is not bound goes", func(w world) {
			w.create(volume)
			if got := w.object("persistentvolumes", "pv").GetFinalizers(); !slices.Contains(got, "kubernetes.io/pv-protection") {
				w.Errorf("the finalizers are %v", got)
			}
			w.delete("persistentvolumes", "pv")
			if w.find("persistentvolumes", "pv") != nil {
				w.Error("the volume is still there")
			}
		}},
		{"volumeattributesclass-protection-controller: a class gets its finalizer", func(w world) {
			w.create(`
apiVersion: storage.k8s.io/v1
kind: VolumeAttributesClass
metadata: {name: fast}
driverName: example.com
parameters: {iops: "1000"}`)
			w.delete("volumeattributesclasses.storage.k8s.io", "fast")
			if w.find("volumeattributesclasses.storage.k8s.io", "fast") != nil {
				w.Error("the class is still there")
			}
		}},
		{"resourceclaim-controller: a Pod gets a claim from its template", func(w world) {
			w.create(`
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu}}]}}}
---
` + pod("web", "resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]"))
			if claims := w.list("resourceclaims.resource.k8s.io"); len(claims) != 1 || !strings.HasPrefix(claims[0].GetName(), "web-gpu-") {
				w.Errorf("the claims are %v", claims)
			}
		}},
		{"certificatesigningrequest-approving-controller: a kubelet's request is approved", func(w world) {
			w.request("system:node:n1", "system:nodes")
			if got := condition(w.object("certificatesigningrequests.certificates.k8s.io", "one"), "Approved"); got != "True AutoApproved" {
				w.Errorf("the condition is %q", got)
			}
		}},
		{"certificatesigningrequest-signing-controller: a kubelet gets its certificate", func(w world) {
			w.request("system:node:n1", "system:nodes")
			if field(w.object("certificatesigningrequests.certificates.k8s.io", "one"), "status.certificate") == "" {
				w.Error("there is none")
			}
		}},
		{"certificatesigningrequest-cleaner-controller: a request that nobody answers goes after a day", func(w world) {
			w.request("somebody")
			w.pass(24 * time.Hour)
			w.object("certificatesigningrequests.certificates.k8s.io", "one")
			w.pass(61 * time.Minute)
			if w.find("certificatesigningrequests.certificates.k8s.io", "one") != nil {
				w.Error("the request is still there")
			}
		}},
		{"podcertificaterequest-cleaner-controller: it looks every five minutes, by an informer", func(w world) {
			if n := w.requests("kube-controller-manager", "watch", "podcertificaterequests"); n != 1 {
				w.Errorf("it follows the requests %d times", n)
			}
		}},
		{"device-taint-eviction-controller: a Pod leaves a device that is tainted", func(w world) {
			objects := strings.Split(tainted, "kind: ResourceClaim")
			w.create(strings.TrimSuffix(objects[0], "---\napiVersion: resource.k8s.io/v1\n"))
			w.create("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim" + strings.Replace(objects[1], "UID", string(w.object("pods", "web").GetUID()), 1))
			if p := w.find("pods", "web"); p != nil && p.GetDeletionTimestamp() == nil {
				w.Errorf("the Pod is still there; Events: %v", w.events("web"))
			}
			w.isLogged("web", "DeviceTaintManagerEviction: Marking for deletion")
		}},
		{"serviceaccount-token-controller: a Secret gets a token of its account, and goes with it", func(w world) {
			w.create(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: v1
kind: Secret
metadata: {name: robot, annotations: {kubernetes.io/service-account.name: robot}}
type: kubernetes.io/service-account-token`)
			secret, err := w.client.CoreV1().Secrets("default").Get(w.Context(), "robot", metav1.GetOptions{})
			if err != nil {
				w.Fatal(err)
			}
			if len(secret.Data["ca.crt"]) == 0 || string(secret.Data["namespace"]) != "default" {
				w.Errorf("the data is %v", secret.Data)
			}
			cfg := w.cluster.RESTConfig()
			cfg.BearerToken = string(secret.Data["token"])
			review, err := kubernetes.NewForConfigOrDie(cfg).AuthenticationV1().SelfSubjectReviews().Create(w.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
			if err != nil || review.Status.UserInfo.Username != "system:serviceaccount:default:robot" {
				w.Errorf("the token is that of %v; %v", review, err)
			}
			w.delete("serviceaccounts", "robot")
			if w.find("secrets", "robot") != nil {
				w.Error("the Secret is still there")
			}
		}},
		{"legacy-serviceaccount-token-cleaner-controller: it looks once a day since when tokens are tracked", func(w world) {
			w.pass(25 * time.Hour)
			if n := w.requests("legacy-service-account-token-cleaner", "get", "configmaps"); n != 2 {
				w.Errorf("it has looked %d times", n)
			}
		}},
		{"garbage-collector-controller: dependents go within the DELETE of their owner", func(w world) {
			w.create(workload("apps/v1", "Deployment", "web", "replicas: 2"))
			if err := w.client.AppsV1().Deployments("default").Delete(w.Context(), "web", metav1.DeleteOptions{}); err != nil {
				w.Fatal(err)
			}
			if len(w.list("replicasets.apps")) > 0 {
				w.Error("the ReplicaSet is still there")
			}
			w.pass(0)
			for _, p := range w.list("pods") {
				w.Errorf("the Pod %s is still there", p.GetName())
			}
		}},
		{"namespace-controller: a namespace goes with its Pods, after its grace", func(w world) {
			w.create("{apiVersion: v1, kind: Namespace, metadata: {name: old}}\n---\n" + strings.Replace(workload("apps/v1", "Deployment", "web", "replicas: 2"), "{name: web}", "{name: web, namespace: old}", 1))
			if len(w.list("pods")) != 2 {
				w.Fatal("there are no Pods")
			}
			w.delete("namespaces", "old")
			w.pass(20 * time.Second) // the Pods end after the grace of the namespace, and then the controller looks again
			if w.find("namespaces", "old") != nil {
				w.Error("the namespace is still there")
			}
		}},
		{"serviceaccount-controller and root-ca-certificate-publisher-controller: Pods have their token", func(w world) {
			w.create(pod("web", ""))
			if got := field(w.object("pods", "web"), "spec.volumes"); !strings.Contains(got, "kube-root-ca.crt") {
				w.Errorf("the volumes are %s", got)
			}
			w.object("configmaps", "kube-root-ca.crt")
		}},
		{"clusterrole-aggregation-controller: the role view has rules", func(w world) {
			if field(w.object("clusterroles.rbac.authorization.k8s.io", "view"), "rules") == "" {
				w.Error("there are none")
			}
		}},
	}
	var tested []string
	for _, c := range cases {
		controllers, _, _ := strings.Cut(c.name, ": ")
		tested = append(tested, controllers)
	}
	for _, name := range controlplane.Names() {
		if !slices.Contains(tested, name) {
			t.Errorf("%s does not have a case whose name begins with it", name)
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if seedtest.RaceDetector && strings.Contains(c.name, " a day") {
				t.Skip("a virtual day takes minutes under the race detector")
			}
			inBubble(t, c.test)
		})
	}
}

const (
	// tainted has a Pod whose claim has a device with the effect NoExecute.
	tainted = `
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: d1, taints: [{key: broken, effect: NoExecute}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeName: n1
  containers: [{name: c, image: nginx, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: gpu}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu}}]}}
status:
  allocation: {devices: {results: [{request: one, driver: gpu.example.com, pool: n1, device: d1}]}}
  reservedFor: [{resource: pods, name: web, uid: UID}]
`
	service = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`
	volume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}}
`
	claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
)

// ready is a Pod on the Node n1 that is ready.
func ready(name string) string {
	return pod(name, "nodeName: n1") + `
status:
  phase: Running
  podIPs: [{ip: 10.0.0.1}]
  podIP: 10.0.0.1
  conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]
`
}

func job(name, spec string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + "}\nspec:\n  template: {spec: {restartPolicy: Never, containers: [{name: c, image: nginx}]}}\n" + indent(spec)
}

// delete deletes an object of the namespace default, or one of the cluster, and waits until nothing moves.
func (w world) delete(resource, name string) {
	w.Helper()
	gvr, err := w.cluster.RESTMapper().ResourceFor(parse(resource))
	if err != nil {
		w.Fatal(err)
	}
	obj := w.object(resource, name)
	if err := w.cluster.Dynamic().Resource(gvr).Namespace(obj.GetNamespace()).Delete(w.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		w.Fatal(err)
	}
	w.pass(time.Second)
}

// finish has all Pods succeed.
func (w world) finish() {
	w.Helper()
	for _, p := range w.list("pods") {
		if _, err := w.client.CoreV1().Pods(p.GetNamespace()).Patch(w.Context(), p.GetName(), types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status"); err != nil {
			w.Fatal(err)
		}
	}
	w.pass(2 * time.Second)
}

// heartbeat renews the Lease of a Node until the test ends.
func (w world) heartbeat(node string) {
	leases := w.client.CoordinationV1().Leases("kube-node-lease")
	lease, err := leases.Create(w.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &node, RenewTime: new(metav1.NowMicro())}}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	go func() {
		ticker := time.NewTicker(10 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-w.Context().Done():
				return
			case <-ticker.C:
			}
			lease.Spec.RenewTime = new(metav1.NowMicro())
			if lease, err = leases.Update(w.Context(), lease, metav1.UpdateOptions{}); err != nil {
				return
			}
		}
	}()
}

// requests counts the requests of a program.
func (w world) requests(program, verb, resource string) (n int) {
	for _, r := range w.cluster.Requests() {
		if strings.Contains(r.UserAgent, program) && r.Verb == verb && r.Resource+strings.TrimSuffix("/"+r.Subresource, "/") == resource {
			n++
		}
	}
	return n
}

// isLogged fails the test if there is no Event of a reason and a message about objects of a name.
func (w world) isLogged(name, event string) {
	w.Helper()
	if events := w.events(name); !slices.Contains(events, event) {
		w.Errorf("no Event about %s (-want +got):\n%s", name, cmp.Diff([]string{event}, events))
	}
}
