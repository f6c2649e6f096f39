"""The webhooks of a cluster: list and form, one webhook with its deliveries."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.administration.webhooks import service
from apps.cluster.errors import BadRequest, Invalid
from apps.cluster.models import Cluster
from apps.dashboard.forms.object_form import show_error
from apps.dashboard.forms.webhook import WebhookChangeForm, WebhookForm
from apps.dashboard.paging import log_page
from apps.dashboard.rendering import Request, cluster_page, posted, render_page
from apps.engine.models import Webhook


@require_http_methods(["GET", "POST"])
@cluster_page
def webhooks(request: Request, cluster: Cluster) -> HttpResponse:
    """The list; POST adds one."""
    form = WebhookForm(posted(request)[0])
    if request.method == "POST" and form.is_valid():
        try:
            added = service.add_webhook(
                cluster, **form.cleaned_data, user=request.user.get_username()
            )
        except Invalid as refusal:
            show_error(form, refusal)
        else:
            if not form.cleaned_data["secret"]:
                return _page(request, cluster, added, secret=added.secret)
            messages.success(request, "Webhook added. Send a test to see whether it answers.")
            return redirect("webhook", cluster=cluster.name, number=added.pk)
    context = {"cluster": cluster, "form": form, "hooks": list(service.list_webhooks(cluster))}
    return render_page(request, "webhooks", context, status=422 if form.errors else 200)


@require_GET
@cluster_page
def webhook(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """A webhook and the log of its deliveries."""
    return _page(request, cluster, service.get_webhook(cluster, number))


def _page(
    request: Request,
    cluster: Cluster,
    hook: Webhook,
    *,
    secret: str = "",
    form: WebhookChangeForm | None = None,
) -> HttpResponse:
    """The page of a webhook, with a secret that was just created, or a form that is refused."""
    stored = {"url": hook.url, "kinds": hook.kinds}
    context = {
        "cluster": cluster,
        "hook": hook,
        "secret": secret,
        "form": form or WebhookChangeForm(initial=stored),
        "page": log_page(service.deliveries_of(hook), request.GET),
        "failures": service.has_failures(hook),
    }
    response = render_page(request, "webhook", context, status=422 if form else 200)
    if secret:
        response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
@cluster_page
def change_webhook(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """Apply `action`: test, retry, change, enable, disable, delete, or secret, which shows one."""
    webhook, action = service.get_webhook(cluster, number), request.POST.get("action", "")
    match action:
        case "test":
            service.send_test(webhook)
            messages.success(request, "A test will be sent in a moment; see the log below.")
        case "retry":
            count = service.retry(webhook)
            noun = "delivery is" if count == 1 else "deliveries are"
            messages.success(request, f"{count:,} {noun} sent again, one after the other.")
        case "secret":
            service.replace_secret(webhook)
            return _page(request, cluster, webhook, secret=webhook.secret)
        case "change":
            form = WebhookChangeForm(request.POST)
            if not form.is_valid():
                return _page(request, cluster, webhook, form=form)
            service.change_webhook(webhook, **form.cleaned_data)
            messages.success(request, "Webhook changed.")
        case "enable" | "disable":
            service.set_enabled(webhook, action == "enable")
            messages.success(request, f"Webhook {action}d.")
        case "delete":
            service.delete_webhook(webhook)
            messages.success(request, "Webhook deleted.")
            return redirect("webhooks", cluster=cluster.name)
        case _:
            raise BadRequest(f"unknown action {action!r}")
    return redirect("webhook", cluster=cluster.name, number=number)
