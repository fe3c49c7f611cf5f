package history

import "slices"

// Fixed are the histories that are written by hand.
func Fixed() []History { return slices.Concat(workloadHistories(), failingNodes(), autoscaling()) }

// workloadHistories are about workloads on Nodes that do not fail.
func workloadHistories() []History {
	return []History{
		// Deployments.
		{Name: "a Deployment rolls out and scales", Steps: []Step{deployment("web", "web", 3), scale("Deployment", "web", 5), scale("Deployment", "web", 1)}},
		{Name: "a Deployment gets a new image", Steps: []Step{deployment("web", "web", 3), setImage("Deployment", "web", "web2")}},
		{Name: "a Deployment rolls back from a missing image", Steps: []Step{deployment("web", "web", 3), setImage("Deployment", "web", "missing"), setImage("Deployment", "web", "web")}},
		{Name: "a Deployment is recreated", Steps: []Step{deployment("web", "web", 3, set("{type: Recreate}", "spec", "strategy")), setImage("Deployment", "web", "web2")}},
		{Name: "a Deployment pauses in the middle", Steps: []Step{
			deployment("web", "web", 4), setImage("Deployment", "web", "unready"), patch("Deployment", "web", "{spec: {paused: true}}"),
			scale("Deployment", "web", 6), setImage("Deployment", "web", "web3"), patch("Deployment", "web", "{spec: {paused: false}}"),
		}},
		{Name: "a Deployment whose Pods never become ready", Steps: []Step{
			deployment("web", "unready", 2, set("2", "spec", "progressDeadlineSeconds")).until(condition("Deployment", "web", "Progressing", "False")),
		}},
		{Name: "a Deployment with minReadySeconds and slow Pods", Steps: []Step{
			deployment("web", "slow", 3, set("2", "spec", "minReadySeconds")).until(condition("Deployment", "web", "Available", "True")),
			setImage("Deployment", "web", "web").until(updated("web", 3)),
		}},
		{Name: "old ReplicaSets are removed", Steps: []Step{
			deployment("web", "web", 1, set("1", "spec", "revisionHistoryLimit")), setImage("Deployment", "web", "web2"), setImage("Deployment", "web", "web3"), setImage("Deployment", "web", "slow"),
		}},
		{Name: "Pods of a Deployment are deleted", Steps: []Step{deployment("web", "web", 3), removePods("web", 2)}},
		{Name: "a Deployment is deleted in the foreground", Steps: []Step{deployment("web", "stubborn", 2), remove("Deployment", "web", "Foreground")}},
		{Name: "a Deployment leaves orphans", Steps: []Step{deployment("web", "web", 2), remove("Deployment", "web", "Orphan")}},
		{Name: "a ReplicaSet adopts and releases Pods", Steps: []Step{
			pod("web", "web"), workload("ReplicaSet", "web", "web", 2), patch("Pod", "web", "{metadata: {labels: {app: other}}}"),
		}},
		{Name: "a quota stops a Deployment", Steps: []Step{
			create("create ResourceQuota pods of 2", "{apiVersion: v1, kind: ResourceQuota, metadata: {name: pods}, spec: {hard: {pods: 2}}}"),
			workload("ReplicaSet", "web", "web", 2), patch("ResourceQuota", "pods", "{spec: {hard: {pods: 1}}}"),
		}},
		// StatefulSets.
		{Name: "a StatefulSet rolls out in order", Steps: []Step{
			service("db", set("None", "spec", "clusterIP")), workload("StatefulSet", "db", "web", 3), setImage("StatefulSet", "db", "web2"), scale("StatefulSet", "db", 1),
		}},
		{Name: "a StatefulSet in parallel with a partition", Steps: []Step{
			workload("StatefulSet", "db", "web", 3, set("Parallel", "spec", "podManagementPolicy"), set("{rollingUpdate: {partition: 2}}", "spec", "updateStrategy")),
			setImage("StatefulSet", "db", "web2"), patch("StatefulSet", "db", "{spec: {updateStrategy: {rollingUpdate: {partition: 0}}}}"),
		}},
		{Name: "a StatefulSet stops at a Pod that is not ready", Steps: []Step{
			workload("StatefulSet", "db", "web", 3), setImage("StatefulSet", "db", "unready"), removePods("db", 1), setImage("StatefulSet", "db", "web"), removePods("db", 3),
		}},
		{Name: "a StatefulSet with volumes", Steps: []Step{
			workload("StatefulSet", "db", "web", 2, claims, set("{whenDeleted: Retain, whenScaled: Delete}", "spec", "persistentVolumeClaimRetentionPolicy")),
			scale("StatefulSet", "db", 1), scale("StatefulSet", "db", 2), remove("StatefulSet", "db", ""), remove("PersistentVolumeClaim", "data-db-0", ""),
		}},
		{Name: "volumes bind and are released", Steps: []Step{
			create("create StorageClass now", "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: now}, provisioner: fakecluster.io/volume, volumeBindingMode: Immediate}"),
			claim("data", "now"), claim("late", "standard"), pod("user", "long", volume("data")), remove("PersistentVolumeClaim", "data", ""), remove("Pod", "user", ""),
		}},
		{Name: "a claim of a StorageClass that fails", Steps: []Step{
			create("create StorageClass fails", "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fails}, provisioner: fakecluster.io/volume, parameters: {fail: no space}}"),
			claim("data", "fails"), pod("user", "long", volume("data")),
		}},
		{Name: "an ephemeral volume", Steps: []Step{
			pod("user", "long", inPod(`[{name: scratch, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]`, "volumes")),
			remove("Pod", "user", ""),
		}},
		// DaemonSets.
		{Name: "a DaemonSet rolls out", Steps: []Step{workload("DaemonSet", "agent", "web", 0), setImage("DaemonSet", "agent", "web2"), setImage("DaemonSet", "agent", "slow")}},
		{Name: "a DaemonSet rolls out on all Nodes", Steps: []Step{
			workload("DaemonSet", "agent", "web", 0, set("{rollingUpdate: {maxUnavailable: 100%}}", "spec", "updateStrategy")), setImage("DaemonSet", "agent", "unready"), setImage("DaemonSet", "agent", "web2"),
		}},
		{Name: "a DaemonSet leaves a Node with another label", Steps: []Step{
			patch("Node", "n1", "{metadata: {labels: {disk: ssd}}}"), workload("DaemonSet", "agent", "web", 0, inPod("{disk: ssd}", "nodeSelector")),
			patch("Node", "n2", "{metadata: {labels: {disk: ssd}}}"), patch("Node", "n1", "{metadata: {labels: {disk: null}}}"),
		}},
		{Name: "a DaemonSet with OnDelete", Steps: []Step{
			workload("DaemonSet", "agent", "web", 0, set("{type: OnDelete}", "spec", "updateStrategy")), setImage("DaemonSet", "agent", "web2"), removePods("agent", 3),
		}},
		// Jobs.
		{Name: "a Job completes", Steps: []Step{job("task", "task").until(jobEnds("task"))}},
		{Name: "a Job with several completions", Steps: []Step{job("task", "task", set("4", "spec", "completions"), set("2", "spec", "parallelism")).until(jobEnds("task"))}},
		{Name: "a Job fails at once", Steps: []Step{job("task", "fail", set("0", "spec", "backoffLimit")).until(jobEnds("task"))}},
		{Name: "a Job fails after a back-off", Steps: []Step{job("task", "fail", set("1", "spec", "backoffLimit")).until(jobEnds("task"))}},
		{Name: "an indexed Job", Steps: []Step{job("task", "task", set("3", "spec", "completions"), set("3", "spec", "parallelism"), set("Indexed", "spec", "completionMode")).until(jobEnds("task"))}},
		{Name: "an indexed Job in which each index fails", Steps: []Step{
			job("task", "fail", set("2", "spec", "completions"), set("2", "spec", "parallelism"), set("Indexed", "spec", "completionMode"), set("0", "spec", "backoffLimitPerIndex")).until(jobEnds("task")),
		}},
		{Name: "a Job whose policy fails it by an exit code", Steps: []Step{
			job("task", "reject", set("{rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}", "spec", "podFailurePolicy")).until(jobEnds("task")),
		}},
		{Name: "a Job that restarts in place", Steps: []Step{job("task", "heals", inPod("OnFailure", "restartPolicy")).until(jobEnds("task"))}},
		{Name: "a Job with a deadline", Steps: []Step{job("task", "long", set("2", "spec", "activeDeadlineSeconds")).until(jobEnds("task"))}},
		{Name: "a Job is suspended and resumes", Steps: []Step{
			job("task", "long", set("2", "spec", "completions"), set("2", "spec", "parallelism")), patch("Job", "task", "{spec: {suspend: true}}"), patch("Job", "task", "{spec: {suspend: false}}"),
		}},
		{Name: "a Job is removed after it has finished", Steps: []Step{job("task", "task", set("5", "spec", "ttlSecondsAfterFinished")).until(jobEnds("task")), {What: "wait", Until: gone("Job", "task")}}},
		{Name: "a Job with a success policy", Steps: []Step{
			job("task", "task", set("3", "spec", "completions"), set("1", "spec", "parallelism"), set("Indexed", "spec", "completionMode"), set(`{rules: [{succeededIndexes: "0"}]}`, "spec", "successPolicy")).until(jobEnds("task")),
		}},
		{Name: "a CronJob", Steps: []Step{
			create("create CronJob every minute", cronJob, "task").until(jobOfCronJobEnds), patch("CronJob", "every", "{spec: {suspend: true}}"),
		}},
		// Pods that fail.
		{Name: "a Pod in a crash loop", Steps: []Step{pod("crash", "crash").until(restarts("crash", 1, 1, "CrashLoopBackOff"))}},
		{Name: "Pods of a Deployment in a crash loop", Steps: []Step{
			deployment("web", "crash", 2).until(restarts("web", 2, 1, "CrashLoopBackOff")), setImage("Deployment", "web", "web"),
		}},
		{Name: "a container is killed for its memory", Steps: []Step{pod("hungry", "hungry", inPod("Never", "restartPolicy"))}},
		{Name: "a liveness probe fails", Steps: []Step{
			pod("sick", "sick", inPod("[{name: c, image: sick, livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 2}}]", "containers"), inPod("1", "terminationGracePeriodSeconds")).until(restarts("sick", 1, 1, "")),
		}},
		{Name: "containers that cannot start", Steps: []Step{pod("broken", "broken"), pod("missing", "missing")}},
		{Name: "init containers and sidecars", Steps: []Step{
			pod("web", "web", inPod("[{name: first, image: task}, {name: sidecar, image: web2, restartPolicy: Always}, {name: second, image: task}]", "initContainers")).with("task", "web2"),
			pod("fails", "web", inPod("[{name: first, image: fail}]", "initContainers"), inPod("Never", "restartPolicy")).with("fail"),
		}},
		{Name: "readiness gates", Steps: []Step{
			deployment("web", "web", 1, inPod("[{conditionType: example.com/ready}]", "readinessGates")), service("web"),
		}},
		// The scheduler.
		{Name: "Pods that do not fit", Steps: []Step{pod("large", "long", cpu("100")), pod("nowhere", "long", onNode("n9")), pod("gated", "long", inPod("[{name: example.com/wait}]", "schedulingGates"))}},
		{Name: "a Pod with a higher priority preempts another one", Steps: []Step{
			priority("low", 1), priority("high", 1000), deployment("low", "long", 3, spread("low"), cpu("5"), inPod("low", "priorityClassName")),
			pod("high", "long", onNode("n2"), cpu("5"), inPod("high", "priorityClassName")),
		}},
		{Name: "a Pod that never preempts", Steps: []Step{
			priority("high", 1000, set("Never", "preemptionPolicy")), deployment("low", "long", 3, spread("low"), cpu("5")),
			pod("high", "long", cpu("5"), inPod("high", "priorityClassName")),
		}},
		{Name: "Pods spread over Nodes", Steps: []Step{deployment("web", "web", 4, spread("web")), scale("Deployment", "web", 3)}},
		// Services.
		{Name: "EndpointSlices follow Pods", Steps: []Step{service("web"), deployment("web", "web", 2), setImage("Deployment", "web", "unready"), scale("Deployment", "web", 0), remove("Service", "web", "")}},
		{Name: "a headless Service of Pods that are not ready", Steps: []Step{
			service("web", set("None", "spec", "clusterIP"), set("true", "spec", "publishNotReadyAddresses")), workload("StatefulSet", "web", "unready", 2, set("Parallel", "spec", "podManagementPolicy")),
		}},
		{Name: "Endpoints are mirrored", Steps: []Step{
			create("create Service and Endpoints", `{apiVersion: v1, kind: Service, metadata: {name: ext}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Endpoints, metadata: {name: ext}, subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]}`),
		}},
		// Disruption.
		{Name: "a budget stops evictions", Steps: []Step{deployment("web", "web", 3), budget("web", "minAvailable", "2"), evict("web"), evict("web")}},
		{Name: "a budget of a share", Steps: []Step{deployment("web", "web", 4), budget("web", "maxUnavailable", "50%"), evict("web"), scale("Deployment", "web", 2)}},
		{Name: "a budget with Pods that are not ready", Steps: []Step{deployment("web", "unready", 2), budget("web", "minAvailable", "1"), evict("web")}},
		{Name: "a budget without a controller", Steps: []Step{pod("web", "web"), budget("web", "maxUnavailable", "1"), evict("web")}},
		// Nodes.
		{Name: "a Node is cordoned", Steps: []Step{deployment("web", "web", 3, spread("web")), cordon("n1"), removePods("web", 3), uncordon("n1")}},
		{Name: "a Node is drained", Steps: []Step{
			workload("DaemonSet", "agent", "web", 0), deployment("web", "web", 3, spread("web")), budget("web", "minAvailable", "2"), drain("n1"), drain("n2"), uncordon("n1"), uncordon("n2"),
		}},
		{Name: "a taint evicts Pods", Steps: []Step{
			workload("DaemonSet", "agent", "web", 0), deployment("web", "web", 3, spread("web")), taint("n1", "NoExecute"), untaint("n1"),
		}},
		{Name: "a taint is tolerated for a time", Steps: []Step{
			pod("web", "web", onNode("n1"), inPod("[{key: maintenance, operator: Exists, effect: NoExecute, tolerationSeconds: 4}]", "tolerations")),
			taint("n1", "NoExecute").until(gone("Pod", "web")),
		}},
		{Name: "a Node is deleted", Steps: []Step{
			workload("DaemonSet", "agent", "web", 0), deployment("web", "web", 2, onNode("n3")), remove("Node", "n3", "").until(podsGone("n3")),
		}},
		// The whole namespace.
		{Name: "a namespace is deleted", Steps: []Step{
			service("web"), deployment("web", "stubborn", 2), workload("StatefulSet", "db", "web", 1, claims), job("task", "long"), remove("Namespace", "", "").until(gone("Namespace", "")),
		}},
	}
}
