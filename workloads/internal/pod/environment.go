package pod

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	podshelper "k8s.io/kubernetes/pkg/apis/core/pods"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/pkg/kubelet/envvars"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	"k8s.io/utils/ptr"
)

// environment has the environment variables of a container, by name.
type environment map[string]string

// expand replaces $(NAME) in the words of a command line.
func (e environment) expand(words []string) []string {
	expanded := make([]string, 0, len(words))
	for _, word := range words {
		expanded = append(expanded, expansion.Expand(word, expansion.MappingFuncFor(e)))
	}
	return expanded
}

// list returns "NAME=value" for each variable, in the order of the names.
func (e environment) list() []string {
	list := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		list = append(list, name+"="+e[name])
	}
	return list
}

// environmentOf returns the environment of a container, as makeEnvironmentVariables of the kubelet does: variables of
// envFrom, those of env, which may refer to others, and those of Services whose names are not taken.
func (p *Pod) environmentOf(ctx context.Context, spec *corev1.Container) (environment, error) {
	services, err := p.serviceVariables()
	if err != nil {
		return nil, err
	}
	variables := environment{}
	if err := p.readAll(ctx, spec.EnvFrom, variables); err != nil {
		return nil, err
	}
	lookup := expansion.MappingFuncFor(variables, services)
	for i := range spec.Env {
		variable := &spec.Env[i]
		value := expansion.Expand(variable.Value, lookup)
		if variable.Value == "" && variable.ValueFrom != nil {
			var set bool
			if value, set, err = p.valueFrom(ctx, spec, variable.ValueFrom); err != nil {
				return nil, err
			} else if !set {
				continue
			}
		}
		variables[variable.Name] = value
	}
	for name, value := range services {
		if _, has := variables[name]; !has {
			variables[name] = value
		}
	}
	return variables, nil
}

// serviceVariables returns the variables of Services: of the API server always, and of the pod's namespace unless
// enableServiceLinks is false.
func (p *Pod) serviceVariables() (map[string]string, error) {
	found, err := p.node.config.Services.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	// The API server's namespace comes last: its Service wins over one of the same name.
	var services []*corev1.Service
	for _, s := range found {
		server := s.Namespace == metav1.NamespaceDefault && s.Name == "kubernetes"
		linked := s.Namespace == p.api.Namespace && ptr.Deref(p.api.Spec.EnableServiceLinks, true) && s.Name != "kubernetes"
		if v1helper.IsServiceIPSet(s) && (server || linked) {
			services = append(services, s)
		}
	}
	variables := map[string]string{}
	for _, v := range envvars.FromServices(services) {
		variables[v.Name] = v.Value
	}
	return variables, nil
}

// readAll reads the ConfigMaps and Secrets of envFrom.
func (p *Pod) readAll(ctx context.Context, sources []corev1.EnvFromSource, into environment) error {
	for _, from := range sources {
		switch {
		case from.ConfigMapRef != nil:
			object, err := p.volumes.ConfigMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
			if err != nil {
				return err
			}
			for key, value := range object.Data {
				into[from.Prefix+key] = value
			}
		case from.SecretRef != nil:
			object, err := p.volumes.Secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
			if err != nil {
				return err
			}
			for key, value := range object.Data {
				into[from.Prefix+key] = string(value)
			}
		}
	}
	return nil
}

// valueFrom returns the value of a variable with valueFrom. set is false if the source is optional and does not exist.
func (p *Pod) valueFrom(ctx context.Context, spec *corev1.Container, from *corev1.EnvVarSource) (value string, set bool, err error) {
	missing := func(key, kind, name string, optional *bool) (string, bool, error) {
		if ptr.Deref(optional, false) {
			return "", false, nil
		}
		return "", false, fmt.Errorf("couldn't find key %v in %s %v/%v", key, kind, p.api.Namespace, name)
	}
	switch {
	case from.FieldRef != nil:
		value, err = p.field(from.FieldRef)
	case from.ResourceFieldRef != nil:
		value, err = p.resource(spec, from.ResourceFieldRef)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		object, err := p.volumes.ConfigMap(ctx, ref.Name, ref.Optional)
		if err != nil {
			return "", false, err
		}
		if value, set = object.Data[ref.Key]; !set {
			return missing(ref.Key, "ConfigMap", ref.Name, ref.Optional)
		}
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		object, err := p.volumes.Secret(ctx, ref.Name, ref.Optional)
		if err != nil {
			return "", false, err
		}
		data, has := object.Data[ref.Key]
		if !has {
			return missing(ref.Key, "Secret", ref.Name, ref.Optional)
		}
		value = string(data)
	}
	return value, err == nil, err
}

// field returns a field of the pod for the downward API.
func (p *Pod) field(ref *corev1.ObjectFieldSelector) (string, error) {
	path, _, err := podshelper.ConvertDownwardAPIFieldLabel(ref.APIVersion, ref.FieldPath, "")
	if err != nil {
		return "", err
	}
	switch path {
	case "spec.nodeName":
		return p.api.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return p.api.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return p.node.config.IP, nil
	case "status.podIP", "status.podIPs":
		if len(p.ips) == 0 && p.api.Spec.HostNetwork {
			return p.node.config.IP, nil
		}
		return strings.Join(p.ips, ","), nil
	}
	return fieldpath.ExtractFieldPathAsString(p.api, path)
}

// resource returns a request or a limit for the downward API. A container without a limit has that of the pod, or the
// allocatable resources of the node.
func (p *Pod) resource(spec *corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	allocatable := p.volumes.Allocatable()
	pod, container := p.api.DeepCopy(), spec.DeepCopy()
	for i := range pod.Spec.Containers {
		resource.MergeContainerResourceLimits(&pod.Spec.Containers[i], allocatable)
	}
	resource.MergeContainerResourceLimits(container, allocatable)
	if ref.ContainerName == "" {
		return resource.ExtractContainerResourceValue(ref, container)
	}
	return resource.ExtractResourceValueByContainerName(ref, pod, ref.ContainerName)
}
