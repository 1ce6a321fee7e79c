package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/fields"
)

// maxAccounts is the largest number of service accounts that one run checks. Each account takes about ten requests.
const maxAccounts = 20

// checkAccounts checks that the service accounts of drivers exist and have the rights that Spark needs.
func (d *doctor) checkAccounts(ctx context.Context) {
	accounts := d.accounts()
	if len(accounts) == 0 && !d.objectsKnown {
		return // a finding says why the applications are unknown
	}

	if len(accounts) == 0 {
		d.Add(findings.Note, "accounts", "", "there are no applications and no Connect servers, so no service accounts were checked")
		return
	}

	if len(accounts) > maxAccounts {
		d.Add(findings.Note, "accounts", "", "only the first %d of %d service accounts are checked; use -n for one namespace", maxAccounts, len(accounts))
		accounts = accounts[:maxAccounts]
	}

	for _, a := range accounts {
		if len(validation.IsDNS1123Subdomain(a.Name)) > 0 { // it could be an option of kubectl
			d.Add(findings.Error, "accounts", "", "an application in the namespace %s names the service account %q, which is not a valid name", a.Namespace, a.Name)
			continue
		}

		switch err := d.Get(ctx, client.ObjectKey(a), &corev1.ServiceAccount{}); {
		case apierrors.IsNotFound(err):
			d.Add(findings.Error, "accounts", terminal.Commandf("kubectl -n %s create serviceaccount %s", a.Namespace, a.Name),
				"the service account %s/%s of drivers does not exist", a.Namespace, a.Name)
		case err != nil:
			d.unchecked("accounts", d.Explain(err))
		default:
			d.checkRights(ctx, a)
		}
	}
}

// accounts returns the service accounts that the drivers of the custom resources use, sorted and without duplicates.
func (d *doctor) accounts() (found []kube.Account) {
	for _, object := range d.objects {
		name := ""
		switch object := object.(type) {
		case *v1beta2.SparkApplication:
			name = accountOf(&object.Spec)
		case *v1beta2.ScheduledSparkApplication:
			name = accountOf(&object.Spec.Template)
		case *v1alpha1.SparkConnect:
			name = cmp.Or(accountInTemplate(object.Spec.Server.Template), object.Spec.SparkConf[accountKey])
		case *sparkv1.SparkApplication:
			name = object.Spec.SparkConf[accountKey]
			if object.Spec.DriverSpec != nil {
				name = cmp.Or(name, accountInTemplate(object.Spec.DriverSpec.PodTemplateSpec))
			}
		case *sparkv1.SparkCluster:
			continue // the pods of a cluster need no rights
		}

		found = append(found, kube.Account{Namespace: object.GetNamespace(), Name: cmp.Or(name, "default")})
	}

	slices.SortFunc(found, func(a, b kube.Account) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return slices.Compact(found)
}

// accountKey is Spark's property for the service account of a driver. Spark ignores the property without the role
// (recording account-all of spark/submit), which is the second key of the field.
var accountKey = fields.Application.Key("spec.driver.serviceAccount")

// accountOf returns the service account of a driver: that of its field, of sparkConf, or of the pod template.
func accountOf(spec *v1beta2.SparkApplicationSpec) string {
	if field := spec.Driver.ServiceAccount; field != nil && *field != "" {
		return *field
	}
	return cmp.Or(spec.SparkConf[accountKey], accountInTemplate(spec.Driver.Template))
}

func accountInTemplate(raw *runtime.RawExtension) string {
	var template corev1.PodTemplateSpec
	if raw == nil || utiljson.Unmarshal(raw.Raw, &template) != nil {
		return ""
	}
	return cmp.Or(template.Spec.ServiceAccountName, template.Spec.DeprecatedServiceAccount)
}

// checkRights checks that a service account has the rights of a driver in its namespace.
func (d *doctor) checkRights(ctx context.Context, a kube.Account) {
	missing, err := missingRights(ctx, d.Client, a, a.Namespace, driverRights)
	if err != nil {
		d.unchecked("accounts", err)
		return
	}

	if len(missing) == 0 {
		d.Add(findings.OK, "accounts", "", "the service account %s/%s has the rights of a driver", a.Namespace, a.Name)
		return
	}

	d.Add(findings.Error, "accounts", grant(a), "the service account %s/%s of drivers lacks rights: %s", a.Namespace, a.Name, strings.Join(missing, "; "))
}

// grant returns the command that gives a service account the rights of a driver. If the Role exists, for example
// because another account uses it, the command adds the rights that it lacks, and removes none.
func grant(a kube.Account) terminal.Command {
	return terminal.Commandf("kubectl -n %[1]s create role spark-driver --verb=get,list,watch,create,patch,delete,deletecollection "+
		"--resource=pods,configmaps,services,persistentvolumeclaims --dry-run=client -o yaml | kubectl auth reconcile -f - && "+
		"kubectl -n %[1]s create rolebinding spark-driver-%[2]s --role=spark-driver --serviceaccount=%[1]s:%[2]s --dry-run=client -o yaml | kubectl auth reconcile -f -",
		a.Namespace, a.Name)
}
