package history

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// change changes a manifest.
type change func(object map[string]any)

// set sets a field to a value in YAML.
func set(value string, fields ...string) change {
	return func(object map[string]any) {
		var v any
		if err := yaml.Unmarshal([]byte(value), &v); err != nil {
			panic(err) // of the text of a history
		}
		if err := unstructured.SetNestedField(object, v, fields...); err != nil {
			panic(err)
		}
	}
}

// inPod sets a field of the specification of the Pods of a workload.
func inPod(value string, fields ...string) change {
	return func(object map[string]any) {
		path := []string{"spec", "template", "spec"}
		switch object["kind"] {
		case "Pod":
			path = []string{"spec"}
		case "CronJob":
			path = []string{"spec", "jobTemplate", "spec", "template", "spec"}
		}
		set(value, append(path, fields...)...)(object)
	}
}

// onNode has the Pods run on one Node.
func onNode(name string) change { return inPod("{kubernetes.io/hostname: "+name+"}", "nodeSelector") }

// spread has each Pod run on another Node.
func spread(name string) change {
	return inPod(`{podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: `+name+`}}}]}}`, "affinity")
}

// cpu has each Pod request CPUs.
func cpu(value string) change {
	return func(object map[string]any) {
		pod, _, _ := unstructured.NestedMap(object, "spec", "template", "spec")
		path := []string{"spec", "template", "spec", "containers"}
		if object["kind"] == "Pod" {
			pod, _, _ = unstructured.NestedMap(object, "spec")
			path = path[2:]
			path[0] = "spec"
		}
		containers := pod["containers"].([]any)
		set("{requests: {cpu: "+value+"}}", "resources")(containers[0].(map[string]any))
		if err := unstructured.SetNestedSlice(object, containers, path...); err != nil {
			panic(err)
		}
	}
}

// manifest returns a text with changes.
func manifest(text string, changes []change) string {
	if len(changes) == 0 {
		return text
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		panic(err)
	}
	for _, c := range changes {
		c(object)
	}
	data, err := yaml.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// workload returns a Deployment, a ReplicaSet, a StatefulSet or a DaemonSet, whose Pods have a readiness probe.
func workload(kind, name, image string, replicas int, changes ...change) Step {
	text := fmt.Sprintf(`
apiVersion: apps/v1
kind: %s
metadata: {name: %[2]s}
spec:
  replicas: %[4]d
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      containers: [{name: c, image: %[3]s, readinessProbe: {httpGet: {port: 80}, periodSeconds: 1}}]
`, kind, name, image, replicas)
	switch kind {
	case "DaemonSet":
		changes = append(changes, func(object map[string]any) { unstructured.RemoveNestedField(object, "spec", "replicas") })
	case "StatefulSet":
		changes = append(changes, set(name, "spec", "serviceName"))
	}
	return create(fmt.Sprintf("create %s %s of %d with the image %s", kind, name, replicas, image), manifest(text, changes), image)
}

func deployment(name, image string, replicas int, changes ...change) Step {
	return workload("Deployment", name, image, replicas, changes...)
}

// job returns a Job.
func job(name, image string, changes ...change) Step {
	return create(fmt.Sprintf("create Job %s with the image %s", name, image), manifest(fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: %s}]
`, name, image), changes), image)
}

// pod returns a Pod.
func pod(name, image string, changes ...change) Step {
	return create(fmt.Sprintf("create Pod %s with the image %s", name, image), manifest(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: %[1]s}}
spec:
  containers: [{name: c, image: %s}]
`, name, image), changes), image)
}

// budget returns a PodDisruptionBudget.
func budget(app, field, value string) Step {
	return create(fmt.Sprintf("create PodDisruptionBudget %s with %s %s", app, field, value), fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %s}
spec: {%s: %s, selector: {matchLabels: {app: %[1]s}}}
`, app, field, value))
}

// service returns a Service.
func service(app string, changes ...change) Step {
	return create("create Service "+app, manifest(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s}
spec: {selector: {app: %[1]s}, ports: [{port: 80}]}
`, app), changes))
}

// priority returns a PriorityClass.
func priority(name string, value int, changes ...change) Step {
	return create(fmt.Sprintf("create PriorityClass %s of %d", name, value), manifest(fmt.Sprintf(`
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: %s}
value: %d
`, name, value), changes))
}

// claims gives each Pod of a StatefulSet a volume.
var claims change = func(object map[string]any) {
	set("[{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]", "spec", "volumeClaimTemplates")(object)
	inPod("[{name: c, image: web, volumeMounts: [{name: data, mountPath: /data}]}]", "containers")(object)
}

// claim returns a claim for a volume.
func claim(name, class string) Step {
	return create(fmt.Sprintf("create PersistentVolumeClaim %s of %s", name, class), fmt.Sprintf(
		"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s}, spec: {storageClassName: %s, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}", name, class))
}

// volume has the Pods use a claim.
func volume(claim string) change {
	return inPod("[{name: data, persistentVolumeClaim: {claimName: "+claim+"}}]", "volumes")
}

const cronJob = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: every}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: c, image: task}]
`
