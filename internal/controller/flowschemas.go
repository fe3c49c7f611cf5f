package controller

import (
	"fmt"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	flowcontrolv1apply "k8s.io/client-go/applyconfigurations/flowcontrol/v1"
)

var (
	flowSchemas    = kind{flowcontrolv1.GroupName, "flowschemas"}
	priorityLevels = kind{flowcontrolv1.GroupName, "prioritylevelconfigurations"}
)

// flowSchemaManager is the manager of the condition: the part of kube-apiserver that a real one has.
const flowSchemaManager = "api-priority-and-fairness-config-consumer-v1"

// danglingSchemas sets the condition Dangling of each FlowSchema: whether its PriorityLevelConfiguration is missing. The
// initial FlowSchemas have the condition from the start, so that the controller does not slow down the start of a
// cluster.
func danglingSchemas() *controller {
	return &controller{
		identity: APIServer,
		follows: []followed{
			{kind: flowSchemas, concerns: func(s *step, c change) error {
				now, err := after[*flowcontrolv1.FlowSchema](c)
				if err != nil || now == nil {
					return err
				}
				before, err := earlier[*flowcontrolv1.FlowSchema](c)
				if err == nil && (before == nil || !equality.Semantic.DeepEqual(before.Spec, now.Spec) || !equality.Semantic.DeepEqual(before.Status, now.Status)) {
					s.enqueue(key{name: now.Name})
				}
				return err
			}},
			{kind: priorityLevels, concerns: func(s *step, c change) error {
				if !c.created() && !c.Deleted {
					return nil
				}
				schemas, err := listed[*flowcontrolv1.FlowSchema](s, flowSchemas, "", nil)
				for _, fs := range schemas {
					if fs.Spec.PriorityLevelConfiguration.Name == c.Name {
						s.enqueue(key{name: fs.Name})
					}
				}
				return err
			}},
		},
		catchUp: func(s *step, _ int64) error {
			return enqueueAfter(s, flowSchemas, 0) // the level of any of them may have been created or deleted
		},
		sync: func(s *step, k key) error {
			fs, err := find[*flowcontrolv1.FlowSchema](s, flowSchemas, "", k.name)
			if err != nil || fs == nil {
				return err
			}
			level := fs.Spec.PriorityLevelConfiguration.Name
			found, err := find[*flowcontrolv1.PriorityLevelConfiguration](s, priorityLevels, "", level)
			if err != nil {
				return err
			}
			status, reason, end := flowcontrolv1.ConditionFalse, "Found", "and it exists"
			if found == nil {
				status, reason, end = flowcontrolv1.ConditionTrue, "NotFound", "but there is no such object"
			}
			message := fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q %s", level, end)
			if slices.ContainsFunc(fs.Status.Conditions, func(c flowcontrolv1.FlowSchemaCondition) bool {
				return c.Type == flowcontrolv1.FlowSchemaConditionDangling && c.Status == status && c.Reason == reason && c.Message == message
			}) {
				return nil
			}
			return s.apply(flowSchemas, fs, "status", flowSchemaManager, flowcontrolv1apply.FlowSchema(fs.Name).WithStatus(
				flowcontrolv1apply.FlowSchemaStatus().WithConditions(flowcontrolv1apply.FlowSchemaCondition().
					WithType(flowcontrolv1.FlowSchemaConditionDangling).WithStatus(status).WithReason(reason).WithMessage(message).
					WithLastTransitionTime(metav1.NewTime(s.now())))))
		},
	}
}
