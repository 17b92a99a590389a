// Prints the ClusterRoles that every cluster has from its start, and their bindings.
//
// The program is in the cluster's module, so that it has the roles of the release that the tests use. It writes the text of
// crates/fakekube/src/bootstrap/roles.json to standard output, an object per line. An aggregated role has the rules that its
// controller adds. It omits the roles of controllers, because a sandbox does not need them.
package main

import (
	"encoding/json"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

func main() {
	out := json.NewEncoder(os.Stdout)
	roles := bootstrappolicy.ClusterRoles()
	for i := range roles {
		role := &roles[i]
		role.TypeMeta = metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}
		gather(role, roles, map[string]bool{role.Name: true})
		print(out, role)
	}
	for _, binding := range bootstrappolicy.ClusterRoleBindings() {
		binding.TypeMeta = metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"}
		print(out, &binding)
	}
}

// gather adds the rules of those that a role selects, each once, and of those that these select.
func gather(into *rbacv1.ClusterRole, all []rbacv1.ClusterRole, seen map[string]bool) {
	var add func(of rbacv1.ClusterRole)
	add = func(of rbacv1.ClusterRole) {
		if of.AggregationRule == nil {
			return
		}
		for _, selector := range of.AggregationRule.ClusterRoleSelectors {
			wanted, err := metav1.LabelSelectorAsSelector(&selector)
			if err != nil {
				panic(err)
			}
			for _, other := range all {
				if wanted.Matches(labels.Set(other.Labels)) && !seen[other.Name] {
					seen[other.Name] = true
					if other.AggregationRule == nil {
						into.Rules = append(into.Rules, other.Rules...)
					}
					add(other)
				}
			}
		}
	}
	add(*into)
}

func print(out *json.Encoder, object any) {
	if err := out.Encode(object); err != nil {
		panic(err)
	}
}
