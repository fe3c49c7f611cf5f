// Package recorder records the Events of the nodes of a living cluster, and correlates them as the kubelet does.
package recorder
