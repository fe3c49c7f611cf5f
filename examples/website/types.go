// +groupName=example.com
// +versionName=v1

package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is that of Websites.
var GroupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Website{}, &WebsiteList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Website is a page that is served under a host name. Its name is that of its children, and a label of their Pods.
//
// +kubebuilder:object:generate=true
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="a name must have at most 63 characters, because it is that of the Service"
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.spec.host`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec WebsiteSpec `json:"spec"`
	// +optional
	Status WebsiteStatus `json:"status,omitempty"`
}

// WebsiteSpec says what is served, and how.
//
// +kubebuilder:object:generate=true
type WebsiteSpec struct {
	// host is the name that the page is served under, such as www.example.com.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a website cannot move to another host"
	// +required
	Host string `json:"host"`

	// page is an HTML template. {{.Host}} in it is the name of the host.
	//
	// +required
	Page string `json:"page"`

	// replicas is how many pods serve the page.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=2
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// image is the web server. A webhook fills in the one that the operator is set up with.
	//
	// +optional
	Image string `json:"image,omitempty"`
}

// Types of the conditions of a Website.
const (
	// Registered reports whether the host belongs to the Website.
	Registered = "Registered"
	// Available reports whether as many pods serve the page as the spec demands.
	Available = "Available"
)

// WebsiteStatus says how far the operator has come.
//
// +kubebuilder:object:generate=true
type WebsiteStatus struct {
	// address is the cluster IP that the host is registered for.
	//
	// +optional
	Address string `json:"address,omitempty"`

	// conditions are Registered and Available.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// WebsiteList is a list of Websites.
//
// +kubebuilder:object:generate=true
// +kubebuilder:object:root=true
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Website `json:"items"`
}
