package fakecluster_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// section is a part of the log of a failed test, without its title.
func section(log, title string) string {
	_, section, _ := strings.Cut(log, "\n  "+title+"\n")
	var lines []string
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "    ") {
			break
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// failedOperator is a test that fails with what an operator has done, and a test that has one name with it.
func failedOperator(t *testing.T, do func(t *testing.T, c *fakecluster.Cluster)) (log string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tb := &failing{TB: t, failed: true}
		crd := cronTabDefinition()
		version := &crd.Spec.Versions[0]
		version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
		version.Schema.OpenAPIV3Schema.Properties["status"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"ready": {Type: "boolean"}, "count": {Type: "integer"}, "observed": {Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("-1")}},
			"capacity": {Type: "string"}, "timeout": {Type: "string"}, "at": {Type: "string", Nullable: true}, "conditions": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{
				Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"reason": {Type: "string"}}}}}}}
		do(t, fakecluster.Start(tb, fakecluster.InProcess(), fakecluster.WithObjects(crd)))
		synctest.Wait()
		log = tb.end()
	})
	return log
}

// A status that is written to the object itself is lost without an error. A client in Go sends the zero
// values of a status, too, which do not matter.
func TestAFailedTestLogsADroppedStatus(t *testing.T) {
	log := failedOperator(t, func(t *testing.T, c *fakecluster.Cluster) {
		crons := as(c, c.RESTConfig(), "operator")
		with := func(name string, status object) *unstructured.Unstructured {
			obj := cronTab(name)
			obj.Object["status"] = status
			return obj
		}
		create(t, crons, with("created", object{"ready": true}))
		create(t, crons, with("zero", object{"ready": false, "count": int64(0)}))
		create(t, crons, with("defaulted", object{}))
		create(t, crons, with("zeros", object{"capacity": "0", "timeout": "0s", "conditions": []any{object{"reason": ""}}, "at": nil}))
		obj := create(t, crons, cronTab("updated"))
		for range 2 {
			obj.Object["status"] = object{"ready": true}
			_, err := crons.Update(t.Context(), obj, metav1.UpdateOptions{})
			must(t, err)
		}
		_, err := crons.Update(t.Context(), obj, metav1.UpdateOptions{DryRun: []string{"All"}})
		must(t, err)
		_, err = crons.Patch(t.Context(), "zero", types.MergePatchType, []byte(`{"status":{"count":3}}`), metav1.PatchOptions{})
		must(t, err)

		// What the status is already, and what is written as it should be, is kept.
		obj, err = crons.UpdateStatus(t.Context(), obj, metav1.UpdateOptions{})
		must(t, err)
		_, err = crons.Update(t.Context(), obj, metav1.UpdateOptions{})
		must(t, err)

		apps := kubernetes.NewForConfigOrDie(c.RESTConfig()).AppsV1()
		deployments := apps.Deployments("default")
		labels := map[string]string{"app": "web"}
		deployment, err := deployments.Create(t.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		}}, metav1.CreateOptions{})
		must(t, err)
		// The zero values of this kind are pointers in the type that the server stores.
		_, err = apps.StatefulSets("default").Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"},
			Spec: appsv1.StatefulSetSpec{Selector: deployment.Spec.Selector, Template: deployment.Spec.Template}}, metav1.CreateOptions{})
		must(t, err)
		deployment.Status.ReadyReplicas = 1
		_, err = deployments.Update(t.Context(), deployment, metav1.UpdateOptions{})
		must(t, err)
	})
	const crons = "its status: crontabs take it only at the subresource /status, in Go with UpdateStatus or Status().Update"
	equal(t, "section", section(log, "sent, but not kept:"), "+0s fakecluster.test update deployments.apps default/web: "+strings.Replace(crons, "crontabs", "deployments", 1)+"\n"+
		"+0s operator patch crontabs.stable.example.com default/zero: "+crons+"\n"+
		"+0s operator update crontabs.stable.example.com default/updated (2 times): "+crons+"\n"+
		"+0s operator create crontabs.stable.example.com in default: "+crons)
}

// Defaults fill the status of some kinds, such as the phase of a PersistentVolumeClaim. A typed client, which writes protobuf, has not sent them.
func TestAFailedTestDoesNotLogADefaultedStatus(t *testing.T) {
	log := failedOperator(t, func(t *testing.T, c *fakecluster.Cluster) {
		config := c.RESTConfig()
		config.ContentType = "application/vnd.kubernetes.protobuf"
		client := kubernetes.NewForConfigOrDie(config)
		size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claims := client.CoreV1().PersistentVolumeClaims("default")
		_, err := claims.Create(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size}}}, metav1.CreateOptions{})
		must(t, err)
		_, err = client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PersistentVolumeSpec{
			AccessModes: modes, Capacity: size, PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/a"}}}}, metav1.CreateOptions{})
		must(t, err)
		_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		must(t, err)
		_, err = client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
		must(t, err)
		_, err = claims.Create(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size}}}, metav1.CreateOptions{})
		must(t, err)
	})
	equal(t, "a status that was set", section(log, "sent, but not kept:"), "+0s fakecluster.test create persistentvolumeclaims in default: "+
		"its status: persistentvolumeclaims take it only at the subresource /status, in Go with UpdateStatus or Status().Update")
}

func TestAFailedTestLogsWarnings(t *testing.T) {
	log := failedOperator(t, func(t *testing.T, c *fakecluster.Cluster) {
		crons := as(c, c.RESTConfig(), "operator")
		for _, name := range []string{"a", "b"} {
			obj := cronTab(name)
			obj.Object["spec"].(object)["imgae"] = "i"
			create(t, crons, obj)
		}
	})
	equal(t, "section", section(log, "warnings of the server (an unknown field is not kept):"),
		`+0s operator create crontabs.stable.example.com in default (2 times): unknown field "spec.imgae"`)
}

// A conflict is logged with the write before it. An operator that keeps a copy sends one revision each time.
func TestAFailedTestLogsTheWriteBeforeAConflict(t *testing.T) {
	log := failedOperator(t, func(t *testing.T, c *fakecluster.Cluster) {
		user, operator := as(c, c.RESTConfig(), "cron.test"), as(c, c.ConfigFor("jane", "system:masters"), "cron.test")
		first := create(t, user, cronTab("a"))
		newest := first
		for range 5 {
			newest = newest.DeepCopy()
			newest.SetLabels(map[string]string{"at": newest.GetResourceVersion()})
			var err error
			newest, err = user.Update(t.Context(), newest, metav1.UpdateOptions{})
			must(t, err)
		}
		for range 3 {
			_, err := operator.Update(t.Context(), first, metav1.UpdateOptions{})
			equal(t, "a conflict", apierrors.IsConflict(err), true)
		}
	})
	const user = "cron.test (kubernetes-admin) update"
	equal(t, "section", regexp.MustCompile(`(Version|had) \d+`).ReplaceAllString(section(log, "conflicts, because another write came first:"), "$1 N"),
		"+0s cron.test (jane) update crontabs.stable.example.com default/a (3 times): "+
			"it sent the resourceVersion N each time, and the object had N; in between "+user+", "+user+", "+user+" (and 2 before)")
}

// A watch for a cache does not enqueue the owner. Objects that need not be created again are left out.
func TestAFailedTestLogsOwnedObjectsThatWereNotCreatedAgain(t *testing.T) {
	log := failedOperator(t, func(t *testing.T, c *fakecluster.Cluster) {
		cfg := c.RESTConfig()
		cfg.UserAgent = "operator"
		crons, maps := as(c, c.RESTConfig(), "operator"), kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
		w, err := maps.Watch(t.Context(), metav1.ListOptions{})
		must(t, err)
		defer w.Stop()
		child := func(name, owner string, uid types.UID) {
			t.Helper()
			_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "stable.example.com/v1", Kind: "CronTab", Name: owner, UID: uid, Controller: new(true)}}}}, metav1.CreateOptions{})
			must(t, err)
		}
		kept, gone := create(t, crons, cronTab("kept")), create(t, crons, cronTab("gone"))
		for _, name := range []string{"lost", "back", "there"} {
			child(name, "kept", kept.GetUID())
		}
		child("orphan", "gone", gone.GetUID())
		time.Sleep(time.Second)
		user := kubernetes.NewForConfigOrDie(c.ConfigFor("jane", "system:masters")).CoreV1().ConfigMaps("default")
		for _, name := range []string{"lost", "back", "orphan"} {
			must(t, user.Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
		child("back", "kept", kept.GetUID())
		must(t, crons.Delete(t.Context(), "gone", metav1.DeleteOptions{}))
	})
	equal(t, "section", section(log, "owned, deleted, and not created again:"),
		"+1s configmaps default/lost of the CronTab kept: created by operator, deleted by fakecluster.test; if its changes should call the controller, check that its builder has .Owns(&corev1.ConfigMap{})")
}

// An Event says in the words of a controller why it does not go on. Equal ones are counted.
func TestAFailedTestLogsWarningEvents(t *testing.T) {
	log := failedOperator(t, func(t *testing.T, c *fakecluster.Cluster) {
		cron := create(t, as(c, c.RESTConfig(), "jane"), cronTab("a"))
		cfg := c.RESTConfig()
		cfg.UserAgent = "operator"
		client := kubernetes.NewForConfigOrDie(cfg)
		record := func(name, kind, reason, message string, count int32) {
			t.Helper()
			_, err := client.CoreV1().Events("default").Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, Reason: reason, Message: message, Count: count,
				InvolvedObject: corev1.ObjectReference{APIVersion: cron.GetAPIVersion(), Kind: cron.GetKind(), Namespace: "default", Name: cron.GetName()}}, metav1.CreateOptions{})
			must(t, err)
		}
		record("first", "Warning", "Invalid", "spec.image is missing", 1)
		record("normal", "Normal", "Created", "it is there", 1)
		time.Sleep(time.Second)
		record("again", "Warning", "Invalid", "spec.image is missing", 3)
		record("other", "Warning", "Late", "no answer", 0)
	})
	equal(t, "section", section(log, "Warning Events:"), "+1s operator, about crontabs.stable.example.com default/a: Late: no answer\n"+
		"+1s operator, about crontabs.stable.example.com default/a (4 times): Invalid: spec.image is missing")
}
