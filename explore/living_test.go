package explore_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fakecluster/fakecluster/explore"
)

// pods is the template of Pods in a manifest.
const pods = `{metadata: {labels: {of: $name}}, spec: {nodeSelector: $nodeSelector, containers: [{name: main, image: $image}]}}`

// Manifests of a runner.
const (
	deployment  = `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: $replicas, selector: {matchLabels: {of: $name}}, template: ` + pods + `}}`
	service     = `{apiVersion: v1, kind: Service, spec: {selector: {of: $name}, ports: [{port: 80}]}}`
	replicaSet  = `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: $replicas, selector: {matchLabels: {of: $name}}, template: ` + pods + `}}`
	statefulSet = `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: $replicas, selector: {matchLabels: {of: $name}}, template: ` + pods + `,
		volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`
	onDelete = `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: $replicas, updateStrategy: {type: OnDelete}, selector: {matchLabels: {of: $name}}, template: ` + pods + `}}`
	pod      = `{apiVersion: v1, kind: Pod, spec: {containers: [{name: main, image: $image}]}}`
	job      = `{apiVersion: batch/v1, kind: Job, metadata: {name: $name-job}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: web}]}}}}`
	cronJob  = `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "*/5 * * * *", successfulJobsHistoryLimit: 1,
		jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: $image}]}}}}}}`
	autoscaler = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: $name}, minReplicas: 2, maxReplicas: 4}}`
	renamed    = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: "$name-$replicas"}, spec: {replicas: $replicas, selector: {matchLabels: {of: "$name-$replicas"}},
		template: {metadata: {labels: {of: "$name-$replicas"}}, spec: {containers: [{name: main, image: web}]}}}}`
	exclusive = `{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {of: $name}},
		template: {metadata: {labels: {of: $name}}, spec: {containers: [{name: main, image: web, ports: [{containerPort: 80, hostPort: 80}]}]}}}}`
	invalid = `{apiVersion: v1, kind: ConfigMap, metadata: {name: "In_valid"}}`
)

// and returns manifests as one.
func and(manifests ...string) string { return strings.Join(manifests, "\n---\n") }

// What controllers of the cluster, its scheduler and its nodes write is not the operator's. What the operator writes is, and what it lacks.
func TestAnOperatorInALivingCluster(t *testing.T) {
	short := []string{"the Pods of a foreign Deployment stay", "only what the operator has made is left", "a Pod of the operator stays changed",
		"Pods that a ReplicaSet does not replace"}
	for name, tt := range map[string]struct {
		operator runner
		trial    string
		oracle   explore.Oracle // of the only finding; empty: there is none
		what     string         // the beginning of the finding
	}{
		"the Pods of a foreign Deployment stay": {runner{manifest: deployment}, "occupy deployments.apps default/a; create; delete", "", ""},
		"only what the operator has made is left": {runner{manifest: and(deployment, service), ownerless: true}, "occupy deployments.apps default/a; create; delete",
			explore.CleansUp, "runners.example.com default/a was deleted, and these objects are left:\n    services default/a\nThe operator's last writes:"},
		"the Pods of a Deployment that is gone": {runner{manifest: renamed, orphans: true}, "create; set /spec/replicas 1",
			explore.PathIndependent, "pods default/a-2-*1 exists"},
		"a Pod of the operator is changed": {runner{manifest: pod}, `create; edit-owned pods default/a /spec/containers/0/image "web:2.0"`, "", ""},
		"a Pod of the operator stays changed": {runner{manifest: pod, once: true}, `create; edit-owned pods default/a /spec/containers/0/image "web:2.0"`,
			explore.Recovers, "pods default/a has another /spec/containers/*/image"},
		"a Pod of a Deployment is deleted":  {runner{manifest: deployment}, "create; delete-owned pods default/a-*1", "", ""},
		"a completed Pod is deleted":        {runner{manifest: and(deployment, job)}, "create; delete-owned pods default/a-job-*1", "", ""},
		"Pods that fit on no Node":          {runner{manifest: deployment}, `create; set /spec/nodeSelector {"zone":"none"}`, "", ""},
		"Pods that need a port of the Node": {runner{manifest: exclusive}, "create; neighbor", "", ""},
		"Pods that a ReplicaSet does not replace": {runner{manifest: replicaSet}, `create; set /spec/image "web:2.0"`,
			explore.PathIndependent, "pods default/a-*1 has another /spec/containers/*/image"},
		"Pods that the operator has to delete": {runner{manifest: onDelete}, `create; set /spec/image "web:2.0"`,
			explore.PathIndependent, "pods default/a-0 has another /spec/containers/*/image"},
		"a Deployment that is not changed": {runner{manifest: deployment, once: true}, `create; set /spec/nodeSelector {"zone":"none"}`,
			explore.PathIndependent, "deployments.apps default/a does not have /spec/template/spec/nodeSelector"},
		"volumes have the names of their claims": {runner{manifest: statefulSet}, "create; namesake", "", ""},
		"volumes stay with their claims":         {runner{manifest: statefulSet}, "create; set /spec/replicas 1", "", ""},
		"Jobs come with the time":                {runner{manifest: cronJob}, "create; restart; neighbor; delete", "", ""},
		"a schedule is not changed": {runner{manifest: cronJob, once: true}, `create; set /spec/image "web:2.0"`,
			explore.PathIndependent, "cronjobs.batch default/a has another /spec/jobTemplate/spec/template/spec/containers/*/image"},
		"the Pods of a neighbor are deleted": {runner{manifest: deployment, sweeps: true}, "create; neighbor; delete",
			explore.CleansUp, "runners.example.com default/a was deleted, and with it pods default/a-neighbor-"},
		"an autoscaler writes again and again": {runner{manifest: and(deployment, autoscaler), ownerless: true}, "create; delete",
			explore.CleansUp, "runners.example.com default/a was deleted, and these objects are left:\n    deployments.apps default/a\n    horizontalpodautoscalers.autoscaling default/a\n"},
		"the scheduler does not speak for the operator": {runner{manifest: and(statefulSet, invalid), silent: true}, `set /spec/nodeSelector {"zone":"none"}; create`,
			explore.TruthfulStatus, "the server has refused a request "},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !slices.Contains(short, name) {
				t.Skip("-short: an exploration of a living cluster takes seconds; some cases are enough")
			}
			s := tt.operator.subject()
			s.Replay = "runners.example.com default/a: " + tt.trial
			found := findIn(t, s)
			if tt.what == "" && len(found.Findings) == 0 {
				return
			}
			if len(found.Findings) != 1 || found.Findings[0].Oracle != tt.oracle || !strings.Contains(found.Findings[0].Report, "\n"+tt.what) {
				t.Errorf("%s, want %s: %s", found, tt.oracle, tt.what)
				for _, f := range found.Findings {
					t.Log(f.Report)
				}
			}
		})
	}
}

// Nobody changes a field that a controller of the cluster has set: no operator would have to set it back.
func TestAFieldOfTheClusterIsNotChanged(t *testing.T) {
	s := runner{manifest: deployment}.subject()
	s.Replay = `runners.example.com default/a: create; edit-owned pods default/a-*1 /spec/containers/0/image "web:2.0"`
	_, err := explore.FindOperator(t, s)
	if want := "the operator does not set /spec/containers/0/image of pods default/a-*1"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// The Pods of a Deployment are left of the operator, also if it has deleted the Deployment.
func TestThePodsOfADeletedDeploymentAreLeft(t *testing.T) {
	s := runner{manifest: renamed, orphans: true}.subject()
	s.Without = []explore.Oracle{explore.PathIndependent}
	s.Replay = "runners.example.com default/a: create; set /spec/replicas 1; delete"
	found := findIn(t, s)
	want := regexp.MustCompile(`these objects are left:\n( +pods default/a-2-\w+-\w+\n){2} +replicasets.apps default/a-2-\w+\n`)
	if len(found.Findings) != 1 || !want.MatchString(found.Findings[0].Report) {
		t.Errorf("%s, %+v, want %s", found, found.Findings, want)
	}
}
