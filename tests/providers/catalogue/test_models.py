from datetime import UTC, datetime
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.fakes import build_catalogue, build_paths
from yourtool.errors import ConfigError, UnknownModelError
from yourtool.models import AdapterCapabilities, Model, ModelId, Price
from yourtool.providers.catalogue.models import Catalogue


@pytest.fixture
def load(tmp_path):
    def loader(models="", prices=""):
        (tmp_path / "models.toml").write_text(models)
        (tmp_path / "prices.toml").write_text(prices)
        return Catalogue.load(build_paths(tmp_path))

    return loader


def test_shipped_tables_contain_the_required_models_with_prices(load):
    catalogue = load()
    sonnet = catalogue.get("anthropic:claude-sonnet-4-6")
    assert sonnet.price is not None
    assert [
        sonnet.price.input_per_mtok_usd,
        sonnet.price.output_per_mtok_usd,
        sonnet.price.cached_read_per_mtok_usd,
        sonnet.price.cache_write_per_mtok_usd,
    ] == [Decimal(text) for text in ("3.00", "15.00", "0.30", "3.75")]
    gpt = catalogue.get("openai:gpt-5")
    assert gpt.price is not None
    assert (gpt.price.input_per_mtok_usd, gpt.price.output_per_mtok_usd) == (
        Decimal("1.25"),
        Decimal("10.00"),
    )
    assert gpt.uses_max_completion_tokens
    for name in ("anthropic:claude-opus-4-7", "anthropic:claude-haiku-4-5", "openai:gpt-5-mini"):
        assert catalogue.get(name).known
    name = "deepseek/deepseek-v4-pro"
    assert catalogue.get(f"openrouter:{name}").wire_name == name
    assert catalogue.get("demo:tour").price is not None
    assert len(catalogue.pricing_version) == len("2026-11-21")


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("openai:gpt-5", "apply_patch"),
        ("openai:gpt-5-codex", "apply_patch"),
        ("openai:gpt-6-sol", "apply_patch"),
        ("openrouter:openai/gpt-5", "apply_patch"),
        ("openrouter:openai/gpt-oss-120b", "apply_patch"),
        ("openrouter:anthropic/claude-sonnet-5.5", "edit_file"),
        ("anthropic:claude-sonnet-4-6", "edit_file"),
        ("google:gemini-3.5-flash", "edit_file"),
        ("ollama:unknown", "edit_file"),
    ],
)
def test_models_that_are_trained_on_patches_get_apply_patch(load, name, tool):
    assert load().get(name).edit_tool == tool


def test_user_can_choose_the_edit_tool_of_a_model(load):
    catalogue = load(
        """
        [models."openai:gpt-5"]
        edit_tool = "edit_file"
        [models."mine:x"]
        edit_tool = "apply_patch"
        """
    )
    assert catalogue.get("openai:gpt-5").edit_tool == "edit_file"
    assert catalogue.get("mine:x").edit_tool == "apply_patch"
    with pytest.raises(ConfigError, match="edit_tool"):
        load('[models."mine:x"]\nedit_tool = "patch"\n')


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("anthropic:claude-sonnet-4-5", "budget"),
        ("anthropic:claude-haiku-4-5", "budget"),
        ("anthropic:claude-opus-4-6", "adaptive"),
        ("anthropic:claude-sonnet-5", "adaptive"),
        ("google:gemini-2.5-pro", "budget"),
        ("google:gemini-3.5-flash", "effort"),
        ("openai:gpt-5", None),
    ],
)
@pytest.mark.req("R-ADP-17")
def test_every_model_has_a_form_of_effort(load, name, form):
    model = load().get(name)
    assert model.capabilities.supports_thinking
    assert model.thinking == form


def test_every_shipped_model_has_a_usable_description(load):
    models = load().all()
    assert len(models) > 20
    for model in models:
        can = model.capabilities
        assert model.wire_name == ModelId.parse(model.id).name
        assert 0 < can.max_output_tokens <= can.max_context_tokens
        assert bool(can.accepted_image_media_types) >= can.supports_images


@pytest.mark.parametrize(
    ("name", "model_id"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("anthropic:claude-opus-4-7", "anthropic:claude-opus-4-7"),
        ("claude-opus-4-7", "anthropic:claude-opus-4-7"),
        ("sonnet-5.5", "anthropic:claude-sonnet-5-5"),
        (" deepseek-v4-pro ", "deepseek:deepseek-v4-pro"),
        ("deepseek/deepseek-v4-pro", "openrouter:deepseek/deepseek-v4-pro"),
        ("tour", "demo:tour"),
    ],
)
@pytest.mark.req("R-RTE-07")
def test_id_alias_or_unique_suffix_finds_its_model(load, name, model_id):
    assert load().resolve(name).id == model_id


@pytest.mark.req("R-RTE-07")
def test_ambiguous_suffix_is_rejected_with_all_candidates():
    catalogue = build_catalogue("a:gpt-oss", "b:x/gpt-oss", "c:gpt-oss-mini")
    with pytest.raises(UnknownModelError, match="may mean `a:gpt-oss`, `b:x/gpt-oss`") as caught:
        catalogue.resolve("gpt-oss")
    assert caught.value.candidates == ("a:gpt-oss", "b:x/gpt-oss")
    assert catalogue.resolve("gpt-oss-mini").id == "c:gpt-oss-mini"


@pytest.mark.parametrize("name", ["sonet", "", "gtp-5", "nothing-like-it", "x:", ":x"])
@pytest.mark.req("R-CAN-08")
def test_unknown_name_is_rejected_with_the_expected_form(load, name):
    with pytest.raises(UnknownModelError, match="<provider>:<name>") as caught:
        load().resolve(name)
    if name == "sonet":
        assert "did you mean `sonnet`?" in str(caught.value)
        assert caught.value.candidates == ("sonnet",)


@pytest.mark.parametrize("model_id", ["mine:qwen3:8b", "openrouter:a/b-v9", "mine:x"])
@pytest.mark.req("R-ADP-14", "R-CAN-08")
def test_unknown_model_is_usable_by_its_id_with_minimal_capabilities(load, model_id):
    model = load().resolve(model_id)
    assert model == load().get(model_id)
    assert (model.id, model.known, model.price) == (model_id, False, None)
    assert model.wire_name == model_id.partition(":")[2]
    assert model.capabilities == AdapterCapabilities()
    assert not model.capabilities.supports_images


@pytest.mark.req("R-OLL-01")
def test_local_models_have_a_price_of_zero(load):
    for model_id in ("ollama:qwen3:8b", "llama-cpp:x", "lm-studio:x", "vllm:x"):
        price = load().get(model_id).price
        assert price is not None
        assert (price.input_per_mtok_usd, price.output_per_mtok_usd) == (0, 0)


@pytest.mark.req("R-OLL-02")
def test_reported_capabilities_are_used_unless_the_user_overrides_them(load):
    catalogue = load("""
        [models."ollama:qwen3:8b"]
        aliases = ["qwen"]
        max_context_tokens = 65536
        """)
    reported = AdapterCapabilities(
        supports_tools=False, supports_thinking=True, max_context_tokens=9, max_output_tokens=9
    )
    names = ("qwen3:8b", "other")
    catalogue.add_discovered(
        "ollama",
        (Model(id=f"ollama:{name}", wire_name=name, capabilities=reported) for name in names),
    )
    qwen, other = catalogue.resolve("qwen"), catalogue.resolve("other")
    assert qwen.capabilities == msgspec.structs.replace(
        reported, max_context_tokens=65536, supports_system_messages_in_list=True
    )
    assert (qwen.aliases, qwen.known, qwen.price) == (("qwen",), True, other.price)
    assert other.capabilities == reported
    assert other.price is not None
    assert "ollama:other" in [model.id for model in catalogue.all()]


@pytest.mark.req("R-ADP-14")
def test_list_of_a_provider_does_not_override_the_tables(load):
    catalogue = load('[models."openrouter:acme/new"]\naliases = ["new"]\n')
    before, mine = catalogue.resolve("openai:gpt-5"), catalogue.resolve("new")
    reported = AdapterCapabilities(max_context_tokens=9)
    for model in (before, mine):
        again = Model(id=model.id, wire_name=model.wire_name, capabilities=reported)
        catalogue.add_discovered(model.provider, [again])
    after = catalogue.get("openai:gpt-5")
    assert after.caches_for_a_day
    assert (after.price, after.edit_tool) == (before.price, before.edit_tool)
    assert after.capabilities.max_context_tokens == 9
    assert catalogue.resolve("new").aliases == mine.aliases


@pytest.mark.req("R-EASE-03")
def test_guess_is_replaced_by_a_newer_one_or_a_description_and_replaces_none(load):
    catalogue = load()

    def learn(window, day, *, known):
        reported = AdapterCapabilities(max_context_tokens=window)
        model = Model(id="mine:x", wire_name="x", capabilities=reported, known=known)
        catalogue.add_discovered("mine", [model], datetime(2026, 11, day, tzinfo=UTC))
        at = catalogue.discovered_at("mine:x")
        return catalogue.get("mine:x").capabilities.max_context_tokens, at and at.day

    assert learn(1_000, 1, known=False) == (1_000, 1)
    assert learn(2_000, 2, known=False) == (2_000, 2)
    assert learn(3_000, 3, known=True) == (3_000, 3)
    assert learn(4_000, 4, known=False) == (3_000, 3)


@pytest.mark.req("R-CST-01")
def test_listed_price_is_dated_and_used_if_no_table_has_one(load):
    rows = '[models."openrouter:mine"]\ninput_per_mtok_usd = 1\noutput_per_mtok_usd = 2\n'
    catalogue = load(prices=f'pricing_version = "2027-01-01"\n{rows}')
    reported = Price(input_per_mtok_usd=Decimal(7), output_per_mtok_usd=Decimal(8))
    names = ("mine", "theirs")
    models = [
        Model(
            id=f"openrouter:{name}",
            wire_name=name,
            capabilities=AdapterCapabilities(),
            price=reported,
        )
        for name in names
    ]
    catalogue.add_discovered("openrouter", models, datetime(2026, 11, 20, tzinfo=UTC))
    mine, theirs = (catalogue.get(f"openrouter:{name}") for name in names)
    assert mine.price is not None
    assert (mine.price.input_per_mtok_usd, mine.price_as_of) == (Decimal(1), "")
    assert (theirs.price, theirs.price_as_of) == (reported, "openrouter 2026-11-20")


@pytest.mark.req("R-ADP-14")
def test_user_can_add_a_model_and_override_one_key_of_another(load):
    catalogue = load(
        """
        [models."local:llama"]
        aliases = ["llama"]
        wire_name = "Llama-3.3-70B"
        supports_tools = false

        [models."anthropic:claude-sonnet-4-6"]
        max_context_tokens = 5000
        """
    )
    llama = catalogue.resolve("llama")
    assert (llama.id, llama.wire_name) == ("local:llama", "Llama-3.3-70B")
    assert not llama.capabilities.supports_tools
    sonnet = catalogue.get("anthropic:claude-sonnet-4-6")
    assert sonnet.capabilities.max_context_tokens == 5000
    assert sonnet.capabilities.supports_images
    assert sonnet.price is not None


@pytest.mark.req("R-ADP-14")
def test_empty_table_adds_a_model_with_the_defaults_of_its_provider(load):
    model = load('[models."openai:gpt-9"]\n').get("openai:gpt-9")
    assert model.known
    assert model.uses_max_completion_tokens
    assert model.capabilities.supports_images


def test_undescribed_model_can_have_a_price(load):
    rows = '[models."mine:x"]\ninput_per_mtok_usd = 1\noutput_per_mtok_usd = 2\n'
    model = load(prices=f'pricing_version = "2027-01-01"\n{rows}').get("mine:x")
    assert model.price is not None
    assert (model.known, model.price.output_per_mtok_usd) == (False, Decimal(2))
    assert load().get("demo:file").price is not None


def test_user_can_set_a_price_and_the_price_version_shows_it(load):
    catalogue = load(
        prices="""
        pricing_version = "2027-01-01"
        [models."local:llama"]
        input_per_mtok_usd = 0
        output_per_mtok_usd = 0.1
        [models."anthropic:claude-sonnet-4-6"]
        input_per_mtok_usd = "1.5"
        output_per_mtok_usd = 2
        """,
        models='[models."local:llama"]\n',
    )
    price = catalogue.get("local:llama").price
    assert price is not None
    assert price.output_per_mtok_usd == Decimal("0.1")
    sonnet = catalogue.get("anthropic:claude-sonnet-4-6").price
    assert sonnet is not None
    assert sonnet.input_per_mtok_usd == Decimal("1.5")
    assert sonnet.cached_read_per_mtok_usd is None
    assert catalogue.pricing_version == load().pricing_version + "+2027-01-01"


@pytest.mark.parametrize("amount", ["nan", "inf", "-1", "-0.5", "1e999999", "1e-999999", "1000001"])
@pytest.mark.req("R-CST-01")
def test_invalid_price_is_rejected(load, amount):
    row = f"input_per_mtok_usd = 1\noutput_per_mtok_usd = {amount}"
    with pytest.raises(ConfigError, match=r"toml:3: .*output_per_mtok_usd`: a price is zero, or"):
        load("", f'[models."a:b"]\n{row}')


def tier(above, price="1"):
    rates = f"input_per_mtok_usd = {price}, output_per_mtok_usd = 1"
    return f"{{ above_prompt_tokens = {above}, {rates} }}"


@pytest.mark.parametrize(
    ("tiers", "complaint"),
    [
        (tier(1, "nan"), "tiers`: a price is zero, or from 0.000000001 to 1,000,000"),
        (tier(-1), r"tiers.1.above_prompt_tokens`: expected `int` >= 0"),
        (f"{tier(5)}, {tier(9)}, {tier(5, 2)}", "tiers`: two of them have one `above_prompt_to"),
    ],
)
@pytest.mark.req("R-CST-01")
def test_invalid_price_tier_is_rejected(load, tiers, complaint):
    row = f"input_per_mtok_usd = 1\noutput_per_mtok_usd = 1\ntiers = [{tiers}]"
    with pytest.raises(ConfigError, match=rf"prices.toml:4: .*{complaint}"):
        load("", f'[models."a:b"]\n{row}')


@pytest.mark.req("R-ADP-14")
def test_output_limit_is_at_most_a_context_window_from_another_source(load):
    catalogue = load(
        """
        [models."anthropic:claude-sonnet-4-6"]
        max_context_tokens = 5000
        [models."mine:x"]
        max_output_tokens = 50_000
        """
    )

    def sizes(name):
        can = catalogue.get(name).capabilities
        return can.max_context_tokens, can.max_output_tokens

    assert sizes("anthropic:claude-sonnet-4-6") == (5000, 5000)
    assert sizes("mine:x") == (32_768, 32_768)
    for window, output in ((20_000, 20_000), (90_000, 50_000)):
        reported = AdapterCapabilities(max_context_tokens=window)
        catalogue.add_discovered("mine", [Model(id="mine:x", wire_name="x", capabilities=reported)])
        assert sizes("mine:x") == (window, output)


def test_error_location_is_found_in_a_file_with_a_byte_order_mark(load):
    with pytest.raises(ConfigError, match=r"models.toml:1: `models.b`"):
        load("\ufeff[models.b]\n")


def test_price_of_the_user_replaces_the_table_price_with_its_tiers(load):
    shipped = load().get("google:gemini-2.5-pro").price
    assert shipped is not None
    [tier] = shipped.tiers
    assert (tier.above_prompt_tokens, tier.output_per_mtok_usd) == (200_000, 15)
    catalogue = load(
        prices="""
        pricing_version = "2027-01-01"
        [models."google:gemini-2.5-pro"]
        input_per_mtok_usd = 1
        output_per_mtok_usd = 2
        [models."openai:gpt-6-sol"]
        input_per_mtok_usd = 1
        output_per_mtok_usd = 2
        [[models."openai:gpt-6-sol".tiers]]
        above_prompt_tokens = 1_000
        input_per_mtok_usd = 3.5
        output_per_mtok_usd = 4
        """
    )
    plain, tiered = (
        catalogue.get(name).price for name in ("google:gemini-2.5-pro", "openai:gpt-6-sol")
    )
    assert plain is not None
    assert tiered is not None
    assert plain.tiers == ()
    assert [each.input_per_mtok_usd for each in tiered.tiers] == [Decimal("3.5")]


@pytest.mark.parametrize(
    ("models", "prices", "complaint"),
    [
        ('[models."a:b"]\naliases = ["tour"]', "", "`a:b` and `demo:tour` are"),
        ('[models."a:b"]\naliases = ["two words"]', "", "models.toml:2: .*cannot be an alias"),
        ('[models."a:b"]\naliases = ["show"]', "", "`show` cannot be an alias"),
        ('[models."a:b"]\naliases = ["-"]', "", "`-` cannot be an alias"),
        ('[models."a:b"]\nsupports_image = true', "", "toml:2: .*mean `supports_images`"),
        ('[models."a:b"]\nsupports_tools = "no"', "", "toml:2: .*supports_tools"),
        ("[models.b]\n", "", r"toml:1: `models.b`: `b` is not a model id"),
        ("[model.b]\n", "", "`model`: there is no such key; did you mean `models`"),
        ('[models."a:b"]\nmax_output_tokens = 0', "", "toml:2: .*output_tokens`: .* >= 1"),
        ('[models."a:b"]\nmax_output_tokens = -1', "", "toml:2: .*output_tokens`: .* >= 1"),
        ('[models."a:b"]\nmax_context_tokens = -5', "", "toml:2: .*context_tokens`: .* >= 1"),
        (
            f'[models."a:b"]\nmax_context_tokens = 1{"0" * 4_000}',
            "",
            "toml:2: .* <= 9007199254740992",
        ),
        ('[models."a:b"]\nmax_images = -1', "", "toml:2: .*max_images`: .* >= 0"),
        ('[models."a:b"]\nleast_cached_tokens = -1', "", "toml:2: .*cached_tokens`: .* >= 0"),
        ("[defaults.a]\nmax_request_bytes = 0", "", "toml:2: .*request_bytes`: .* >= 1"),
        ('[models."a:b"]\nwire_name = ""', "", "toml:2: .*wire_name`: .* length >= 1"),
        (
            '[models."a:b"]\nmax_context_tokens = 9\nmax_output_tokens = 10',
            "",
            "toml:3: .*max_output_tokens`: no reply is longer .*`max_context_tokens` is 9",
        ),
        ('[models."openai:gpt-5"]\nmax_output_tokens = 400_001', "", "toml:2: .*is 272000"),
        (
            "[defaults.a]\nmax_output_tokens = 10\nmax_context_tokens = 9",
            "",
            "toml:2: `defaults.a.max_output_tokens`: no reply",
        ),
        ("[models", "", "models.toml: not TOML"),
        ("a = " + "[" * 5_000, "", "models.toml: not TOML: it is nested too deeply"),
        ("", "a = " + "9" * 5_000, "prices.toml: not TOML: it has a number that is too large"),
        ("", "a = 1e" + "9" * 30, "prices.toml: not TOML: it has a number that is too large"),
        ("", '[models."a:b"]\ninput_per_mtok_usd = 1', "`output_per_mtok_usd` is missing"),
        ("", '[models."a:b"]\ninput_per_mtok_usd = 1\noutput_per_mtok_usd = 1', "a date such as"),
        ("", 'pricing_version = "x"\n[models."a:b"]\ninput = 1', "prices.toml:3"),
        ("", '[models."a:b"]\ntiers = [{ above_prompt_tokens = 9 }]', "tiers.1`: .* `input_per_"),
        ("", '[models."a:b"]\ntiers = [{ above = 9 }]', "prices.toml:2: .*tiers.1.above`: ther"),
    ],
)
@pytest.mark.req("R-RTE-07")
def test_invalid_settings_are_reported_with_their_location(load, models, prices, complaint):
    with pytest.raises(ConfigError, match=complaint):
        load(models, prices)


@pytest.mark.req("R-RTE-07")
def test_user_can_move_an_alias_from_its_model_to_another(load):
    catalogue = load(
        """
        [models."a:b"]
        aliases = ["sonnet"]
        [models."anthropic:claude-sonnet-4-6"]
        aliases = []
        """
    )
    assert catalogue.resolve("sonnet").id == "a:b"


NAMES = st.text("abc/:-.", min_size=1, max_size=6)


@given(NAMES, NAMES)
@pytest.mark.req("R-CAN-08")
def test_every_valid_id_is_a_model_and_splits_at_its_first_colon(provider, name):
    provider = provider.replace(":", "") or "p"
    catalogue = build_catalogue("a:b")
    model = catalogue.get(f"{provider}:{name}")
    assert (model.provider, model.wire_name == name or model.known) == (provider, True)


@pytest.mark.req("R-ADP-14", "R-ADP-15")
def test_limits_of_the_user_override_those_of_the_provider(load):
    catalogue = load('[models."anthropic:claude-sonnet-4-6"]\nmax_images = 7\n')
    unknown = catalogue.get("anywhere:model").capabilities
    for name in ("openai:gpt-5", "google:gemini-2.5-pro", "anthropic:claude-opus-4-7"):
        can = catalogue.get(name).capabilities
        assert can.max_images > unknown.max_images
        assert can.max_file_bytes > unknown.max_file_bytes
        assert can.max_request_bytes > max(unknown.max_request_bytes, can.max_file_bytes * 4 // 3)
    assert catalogue.get("anthropic:claude-haiku-4-5").capabilities.max_images == 100
    assert catalogue.get("anthropic:claude-sonnet-4-6").capabilities.max_images == 7
    assert catalogue.get("openrouter:openai/gpt-5").capabilities.max_images == unknown.max_images


def test_model_missing_from_its_server_is_removed_unless_a_table_has_it(load):
    catalogue = load("[models.'vllm:mine']\n")

    def hear(provider, *names):
        catalogue.add_discovered(
            provider,
            (
                Model(id=f"{provider}:{name}", wire_name=name, capabilities=AdapterCapabilities())
                for name in names
            ),
        )

    def named():
        return {model.id for model in catalogue.all()} & {"vllm:mine", "vllm:a", "vllm:b", "lm:c"}

    hear("vllm", "mine", "a")
    hear("lm", "c")
    hear("vllm", "b")
    assert named() == {"vllm:mine", "vllm:b", "lm:c"}
    assert catalogue.discovered_at("vllm:a") is None
    assert not catalogue.get("vllm:a").known
    hear("vllm")
    assert named() == {"vllm:mine", "lm:c"}


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google"])
@pytest.mark.req("R-ADP-15")
def test_request_limit_of_a_provider_applies_to_all_its_models(load, provider):
    catalogue = load(f"[defaults.{provider}]\nmax_image_side = 7000\n")
    named, reported = f"{provider}:new", AdapterCapabilities(supports_images=True)
    row = next(model for model in catalogue.all() if model.provider == provider)

    def limits(model):
        can = model.capabilities
        return can.max_image_bytes, can.max_image_side, can.max_file_bytes, can.max_request_bytes

    assert limits(catalogue.get(named)) == limits(row)
    assert not catalogue.get(named).known
    assert not catalogue.get(named).capabilities.supports_images
    catalogue.add_discovered(provider, [Model(id=named, wire_name="new", capabilities=reported)])
    learned = catalogue.get(named)
    assert limits(learned) == limits(row)
    assert (learned.known, learned.capabilities.supports_images) == (True, True)
    assert learned.capabilities.max_context_tokens == reported.max_context_tokens


def test_openai_models_use_the_newer_name_of_the_output_limit(load):
    catalogue = load()
    plain = Model(id="openai:told", wire_name="told", capabilities=AdapterCapabilities())
    catalogue.add_discovered("openai", [plain])
    assert catalogue.get("openai:told").uses_max_completion_tokens
    assert catalogue.get("openai:unheard-of").uses_max_completion_tokens
    assert not catalogue.get("vllm:unheard-of").uses_max_completion_tokens
