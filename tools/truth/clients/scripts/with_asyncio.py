"""kubernetes_asyncio."""

from __future__ import annotations

import asyncio

from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.stream import WsApiClient
from telling import NAMESPACE, async_step, config_map, deployment, pod, tell


async def main():
    await config.load_kube_config()
    async with client.ApiClient() as api:
        core, apps = client.CoreV1Api(api), client.AppsV1Api(api)
        for number in range(5):
            body = config_map(f"m{number}", a="1")
            await async_step(
                "create", lambda body=body: core.create_namespaced_config_map(NAMESPACE, body)
            )
        page = await core.list_namespaced_config_map(NAMESPACE, limit=2, label_selector="app=a")
        tell("page", [each.metadata.name for each in page.items])
        await async_step(
            "rest",
            lambda: core.list_namespaced_config_map(
                NAMESPACE, _continue=page.metadata._continue, label_selector="app=a"
            ),
        )
        since = (await core.list_namespaced_config_map(NAMESPACE)).metadata.resource_version
        await async_step(
            "patch", lambda: core.patch_namespaced_config_map("m0", NAMESPACE, {"data": {"b": "2"}})
        )
        await async_step("delete", lambda: core.delete_namespaced_config_map("m1", NAMESPACE))
        seen = []
        async with watch.Watch() as stream:
            async for event in stream.stream(
                core.list_namespaced_config_map,
                NAMESPACE,
                label_selector="app=a",
                resource_version=since,
                timeout_seconds=2,
            ):
                seen.append((event["type"], event["object"].metadata.name))
        tell("watch", seen)
        await async_step(
            "deployment", lambda: apps.create_namespaced_deployment(NAMESPACE, deployment("web"))
        )
        await async_step(
            "scale",
            lambda: apps.patch_namespaced_deployment_scale(
                "web", NAMESPACE, {"spec": {"replicas": 2}}
            ),
        )
        await async_step("pod", lambda: core.create_namespaced_pod(NAMESPACE, pod("p")))
        await async_step("logs", lambda: core.read_namespaced_pod_log("p", NAMESPACE))
        await async_step(
            "stale",
            lambda: core.replace_namespaced_config_map("none", NAMESPACE, config_map("none")),
        )
        eviction = {"metadata": {"name": "p"}}
        await async_step(
            "evict", lambda: core.create_namespaced_pod_eviction("p", NAMESPACE, eviction)
        )
    async with WsApiClient() as sockets:
        streaming = client.CoreV1Api(api_client=sockets)
        await async_step(
            "exec",
            lambda: streaming.connect_get_namespaced_pod_exec(
                "none", NAMESPACE, command="ls", stdout=True
            ),
        )


asyncio.run(main())
