package kubelet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/util/flushwriter"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/core/v1/validation"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/fakecluster/fakecluster/workloads/internal/stdio"
)

// logs answers with the log of a container.
func (s *Server) logs(w http.ResponseWriter, req *http.Request) {
	options := &corev1.PodLogOptions{}
	if err := legacyscheme.ParameterCodec.DecodeParameters(req.URL.Query(), corev1.SchemeGroupVersion, options); err != nil {
		fail(w, http.StatusBadRequest, errors.New(`{"message": "Unable to decode query."}`))
		return
	}
	if options.Stream == nil {
		stream := corev1.LogStreamAll
		options.Stream = &stream
	}
	if errs := validation.ValidatePodLogOptions(options); len(errs) > 0 {
		fail(w, http.StatusUnprocessableEntity, errors.New(`{"message": "Invalid request."}`))
		return
	}
	name, container := req.PathValue("pod"), req.PathValue("container")
	pod := s.node.Pod(req.PathValue("namespace"), name)
	if pod == nil {
		fail(w, http.StatusNotFound, fmt.Errorf("pod %q does not exist", name))
		return
	}
	if kubecontainer.GetContainerSpec(pod, container) == nil {
		fail(w, http.StatusNotFound, fmt.Errorf("container %q not found in pod %q", container, name))
		return
	}
	id, err := logOf(pod, container, options.Previous)
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	c := s.node.Container(pod, id)
	if c == nil {
		fail(w, http.StatusBadRequest, fmt.Errorf("unable to retrieve container logs for %s", id))
		return
	}
	out := flushwriter.Wrap(w)
	_, _ = out.Write(nil) // sends the header before the first line
	stdout, stderr := io.Writer(out), io.Writer(out)
	switch *options.Stream {
	case corev1.LogStreamStdout:
		stderr = nil
	case corev1.LogStreamStderr:
		stdout = nil
	}
	_ = c.Log.Copy(req.Context(), logOptions(options, time.Now()), stdout, stderr) // it fails only if the client has left
}

// logOptions returns the part of the log to read, by the rules of the kubelet.
func logOptions(o *corev1.PodLogOptions, now time.Time) stdio.Options {
	options := stdio.Options{Follow: o.Follow, Timestamps: o.Timestamps, Tail: -1, Bytes: -1}
	if o.TailLines != nil {
		options.Tail = *o.TailLines
	}
	if o.LimitBytes != nil {
		options.Bytes = *o.LimitBytes
	}
	if o.SinceSeconds != nil {
		options.Since = now.Add(-time.Duration(*o.SinceSeconds) * time.Second)
	}
	if o.SinceTime != nil && o.SinceTime.After(options.Since) {
		options.Since = o.SinceTime.Time
	}
	return options
}

// logOf returns the ID of the start whose log is shown, by the status of the container. The errors are those of a kubelet.
func logOf(pod *corev1.Pod, name string, previous bool) (id string, err error) {
	status, found := podutil.GetContainerStatus(pod.Status.ContainerStatuses, name)
	if !found {
		status, found = podutil.GetContainerStatus(pod.Status.InitContainerStatuses, name)
	}
	if !found {
		status, found = podutil.GetContainerStatus(pod.Status.EphemeralContainerStatuses, name)
	}
	if !found {
		return "", fmt.Errorf("container %q in pod %q is not available", name, pod.Name)
	}
	last, state := status.LastTerminationState.Terminated, status.State
	ended := func(t *corev1.ContainerStateTerminated) bool { return t != nil && t.ContainerID != "" }
	switch {
	case previous:
		if !ended(last) {
			return "", fmt.Errorf("previous terminated container %q in pod %q not found", name, pod.Name)
		}
		return last.ContainerID, nil
	case state.Running != nil:
		return status.ContainerID, nil
	case ended(state.Terminated):
		return state.Terminated.ContainerID, nil
	case ended(last):
		return last.ContainerID, nil
	case state.Terminated != nil, last != nil:
		return "", fmt.Errorf("container %q in pod %q is terminated", name, pod.Name)
	case state.Waiting == nil:
		return "", fmt.Errorf("container %q in pod %q is waiting to start - no logs yet", name, pod.Name)
	}
	why := state.Waiting.Reason
	switch why {
	case "ErrImagePull":
		why = "image can't be pulled"
	case "ImagePullBackOff":
		why = "trying and failing to pull image"
	}
	return "", fmt.Errorf("container %q in pod %q is waiting to start: %v", name, pod.Name, why)
}
