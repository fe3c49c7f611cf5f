// Package cgroup has the control group of a container as its processes see it: the files of cgroup v2 and of /proc that
// show the container's resources.
package cgroup
