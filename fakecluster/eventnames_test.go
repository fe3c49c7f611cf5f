package fakecluster_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	toolsevents "k8s.io/client-go/tools/events"
	toolsrecord "k8s.io/client-go/tools/record"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// A recorder names an Event by the time, which stands still in a bubble, and does not report that the server rejects a second one.
func TestEventsAtOneMomentOfABubbleAreKept(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := fakecluster.Start(t, fakecluster.InProcess())
				cfg := c.RESTConfig()
				cfg.ContentType = contentType
				client := kubernetes.NewForConfigOrDie(cfg)
				about, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
				must(t, err)

				old := toolsrecord.NewBroadcaster(toolsrecord.WithContext(t.Context()))
				defer old.Shutdown()
				old.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
				for _, component := range []string{"operator", "other"} {
					recorder := old.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
					recorder.Event(about, "Normal", "Created", "by "+component)
					recorder.Event(about, "Normal", "Updated", "by "+component)
				}
				current := toolsevents.NewBroadcaster(&toolsevents.EventSinkImpl{Interface: client.EventsV1()})
				defer current.Shutdown()
				must(t, current.StartRecordingToSinkWithContext(t.Context()))
				for _, controller := range []string{"first", "second"} {
					current.NewRecorder(scheme.Scheme, controller).Eventf(about, nil, "Normal", "Synced", "Sync", "by %s", controller)
				}
				time.Sleep(time.Nanosecond) // the next Event does not get the name of one above
				old.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "late"}).Event(about, "Normal", "Deleted", "by late")
				time.Sleep(time.Second)

				list, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
				must(t, err)
				var got []string
				for _, e := range list.Items {
					got = append(got, fmt.Sprint(e.Reason, " ", e.Message))
				}
				slices.Sort(got)
				equal(t, "Events", got, []string{"Created by operator", "Created by other", "Deleted by late", "Synced by first", "Synced by second", "Updated by operator", "Updated by other"})
				for _, q := range c.Requests() {
					if q.Code >= 400 {
						t.Errorf("%s %s: %d", q.Verb, q.Resource, q.Code)
					}
				}
			})
		})
	}
}

// A recorder combines similar Events from the tenth on, and patches the Event that combines them, at one moment or later.
func TestCombinedEventsAtOneMomentOfABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fakecluster.Start(t, fakecluster.InProcess()).Clientset()
		about, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		must(t, err)
		broadcaster := toolsrecord.NewBroadcaster(toolsrecord.WithContext(t.Context()))
		defer broadcaster.Shutdown()
		broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
		recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "operator"})
		for i := range 12 {
			recorder.Event(about, "Normal", "Changed", fmt.Sprint("change ", i))
		}
		time.Sleep(time.Second)
		recorder.Event(about, "Normal", "Changed", "change 12")
		time.Sleep(time.Second)

		list, err := client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{})
		must(t, err)
		var got []string
		for _, e := range list.Items {
			got = append(got, fmt.Sprintf("%d x %s", e.Count, e.Message))
		}
		slices.Sort(got)
		var want []string
		for i := range 9 {
			want = append(want, fmt.Sprint("1 x change ", i))
		}
		equal(t, "Events", got, append(want, "4 x (combined from similar events): change 12"))
	})
}

// An Event that a client names itself keeps its name, and one that exists is rejected.
func TestEventsInABubbleAreRejectedIfTheyExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fakecluster.Start(t, fakecluster.InProcess()).Clientset().CoreV1().Events("default")
		event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "a.1", Namespace: "default"}, InvolvedObject: corev1.ObjectReference{Namespace: "default"}}
		_, err := client.Create(t.Context(), event, metav1.CreateOptions{})
		must(t, err)
		if _, err = client.Create(t.Context(), event, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Error(err)
		}
	})
}
