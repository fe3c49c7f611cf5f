package operator

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Greeting is a text that its controller copies into a ConfigMap.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GreetingSpec   `json:"spec,omitempty"`
	Status GreetingStatus `json:"status,omitempty"`
}

// GreetingSpec is what to greet with. Language is defaulted by a webhook.
type GreetingSpec struct {
	Text     string `json:"text,omitempty"`
	Language string `json:"language,omitempty"`
}

// GreetingStatus has the condition Ready.
type GreetingStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GreetingList is a list of greetings.
type GreetingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Greeting `json:"items"`
}

var (
	groupVersion     = schema.GroupVersion{Group: "conformance.example.com", Version: "v1"}
	greetingResource = groupVersion.WithResource("greetings")
)

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Greeting{}, &GreetingList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

// DeepCopyObject is what a generator would write.
func (g *Greeting) DeepCopyObject() runtime.Object {
	c := *g
	g.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Status.Conditions = nil
	for _, condition := range g.Status.Conditions {
		c.Status.Conditions = append(c.Status.Conditions, *condition.DeepCopy())
	}
	return &c
}

// DeepCopyObject is what a generator would write.
func (l *GreetingList) DeepCopyObject() runtime.Object {
	c := *l
	l.ListMeta.DeepCopyInto(&c.ListMeta)
	c.Items = nil
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*Greeting))
	}
	return &c
}
