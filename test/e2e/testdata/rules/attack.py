"""A driver that tries to break the rules of the platform at run time. It creates pods with the token of its service
account, and then changes the pods of its executors in its own code. It prints the API server's answers.

The arguments are the image and the service account of an allowed pod, the address of the API server, and the directory
with the token.
"""
import copy
import json
import ssl
import sys
import urllib.error
import urllib.request

from pyspark import SparkConf, SparkContext

TEMPLATE = "/tmp/template.json"
image, account, address, directory = sys.argv[1:]


def read(name):
    with open(f"{directory}/{name}") as f:
        return f.read()


def pod(name, change):
    """An allowed pod, after a change."""
    spec = {
        "serviceAccountName": account,
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{
            "name": "own",
            "image": image,
            "command": ["true"],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }],
    }
    change(spec, spec["containers"][0])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def create(name, change):
    request = urllib.request.Request(
        f"https://{address}/api/v1/namespaces/{read('namespace')}/pods",
        json.dumps(pod(name, change)).encode(),
        {"Authorization": "Bearer " + read("token"), "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=directory + "/ca.crt")) as answer:
            print("answer", name, answer.status, flush=True)
    except urllib.error.HTTPError as refusal:
        print("answer", name, refusal.code, json.load(refusal)["message"], flush=True)


create("own-allowed", lambda spec, own: None)
create("own-privileged", lambda spec, own: own.update(securityContext={"privileged": True}))
create("own-foreign", lambda spec, own: own.update(image="docker.io/library/busybox"))
create("own-account", lambda spec, own: spec.update(serviceAccountName="default"))
create("own-root", lambda spec, own: spec.pop("securityContext"))
create("own-large", lambda spec, own: own.update(resources={"requests": {"cpu": "100"}}))


def escape(spec, own):
    spec["hostPID"] = True
    foreign = copy.deepcopy(own)
    foreign.update(name="foreign", securityContext={"privileged": True})
    spec["containers"].append(foreign)


with open(TEMPLATE, "w") as f:
    json.dump(pod("template", escape), f)
# Spark requests executors again and again, so the job never ends.
conf = SparkConf().set("spark.kubernetes.executor.podTemplateFile", TEMPLATE)
SparkContext(conf=conf).parallelize(range(1), 1).count()
