"""Chat templates in the manner of published model families, in our own words: each uses the constructs its family is known
for. NAME -> template."""

HARMONY = r'''
{%- macro type_of(spec, required, nullable=false) -%}
    {%- if spec.type == "array" -%}
        {%- if spec['items'] -%}
            {{- type_of(spec['items'], required) + "[]" -}}
        {%- else -%}
            {{- "any[]" -}}
        {%- endif -%}
    {%- elif spec.type is defined and spec.type is iterable and spec.type is not string and spec.type is not mapping and spec.type[0] is defined -%}
        {{- spec.type | join(" | ") -}}
    {%- elif spec.oneOf -%}
        {%- for option in spec.oneOf -%}
            {{- type_of(option, required) -}}
            {%- if not loop.last %}{{ " | " }}{% endif -%}
        {%- endfor -%}
    {%- elif spec.type == "string" -%}
        {%- if spec.enum -%}
            {{- '"' + spec.enum|join('" | "') + '"' -}}
        {%- else -%}
            {{- "string" }}
            {%- if spec.nullable %}{{- " | null" }}{%- endif -%}
        {%- endif -%}
    {%- elif spec.type in ("number", "integer") -%}
        {{- "number" -}}
    {%- elif spec.type == "boolean" -%}
        {{- "boolean" -}}
    {%- elif spec.type == "object" and spec.properties -%}
        {{- "{\n" }}
        {%- for name, inner in spec.properties.items() -%}
            {{- "  " ~ name }}
            {%- if name not in (spec.required or []) %}{{- "?" }}{%- endif -%}
            {{- ": " ~ type_of(inner, spec.required or []) }}
            {%- if inner.default is defined %}{{- " // default: " ~ inner.default|tojson }}{%- endif -%}
            {%- if not loop.last %}{{- ", " }}{%- endif -%}
        {%- endfor -%}
        {{- "\n}" -}}
    {%- else -%}
        {{- "any" -}}
    {%- endif -%}
{%- endmacro -%}
{%- macro tool_space(space, list) -%}
    {{- "## " + space + "\n\nnamespace " + space + " {\n\n" }}
    {%- for tool in list -%}
        {%- set tool = tool.function -%}
        {{- "// " + (tool.description or '') + "\n" }}
        {{- "type "+ tool.name + " = " }}
        {%- if tool.parameters and tool.parameters.properties %}
            {{- "(_: " ~ type_of(tool.parameters, tool.parameters.required) ~ ") => any;\n\n" }}
        {%- else -%}
            {{- "() => any;\n\n" }}
        {%- endif -%}
    {%- endfor -%}
    {{- "} // namespace " + space }}
{%- endmacro -%}
{%- set effort = reasoning_effort if reasoning_effort is defined else "medium" -%}
{{- "<|start|>system<|message|>Today: " + strftime_now("%Y-%m-%d") + "\nEffort: " + effort + "\n<|end|>" }}
{%- if messages[0].role == "developer" or messages[0].role == "system" %}
    {%- set developer_message = messages[0].content %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set developer_message = "" %}
    {%- set rest = messages %}
{%- endif %}
{%- if developer_message or tools %}
    {{- "<|start|>developer<|message|>" }}
    {%- if developer_message %}{{- "# Instructions\n\n" }}{{- developer_message }}{{- "\n\n" }}{%- endif %}
    {%- if tools -%}{{- "# Tools\n\n" }}{{- tool_space("functions", tools) }}{%- endif -%}
    {{- "<|end|>" }}
{%- endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in rest -%}
    {%- if message.role == 'assistant' -%}
        {%- if "content" in message %}
            {%- if "<|channel|>analysis<|message|>" in (message.content or '')|string %}
                {{- raise_exception("Pass the analysis in 'thinking', not with channel tags in 'content'.") }}
            {%- endif %}
        {%- endif %}
        {%- if "tool_calls" in message and message.tool_calls %}
            {%- set future = namespace(found=false) %}
            {%- for later in rest[loop.index:] %}
                {%- if later.role == 'assistant' and "tool_calls" not in later %}{%- set future.found = true %}{%- endif %}
            {%- endfor %}
            {%- set call = message.tool_calls[0] %}
            {%- if call.function %}{%- set call = call.function %}{%- endif %}
            {%- if message.content and not future.found %}
                {{- "<|start|>assistant<|channel|>analysis<|message|>" + message.content + "<|end|>" }}
            {%- endif %}
            {{- "<|start|>assistant to=" }}
            {{- "functions." + call.name + "<|channel|>commentary " }}
            {{- (call.content_type if call.content_type is defined else "json") + "<|message|>" }}
            {{- call.arguments|tojson }}
            {{- "<|call|>" }}
            {%- set last_tool_call.name = call.name %}
        {%- elif loop.last and not add_generation_prompt %}
            {{- "<|start|>assistant<|channel|>final<|message|>" + (message.content or '') + "<|return|>" }}
        {%- else %}
            {{- "<|start|>assistant<|channel|>final<|message|>" ~ message.content ~ "<|end|>" }}
            {%- set last_tool_call.name = none %}
        {%- endif %}
    {%- elif message.role == 'tool' -%}
        {%- if last_tool_call.name is none %}{{- raise_exception("A tool message without a call before it.") }}{%- endif %}
        {{- "<|start|>functions." + last_tool_call.name }}
        {{- " to=assistant<|channel|>commentary<|message|>" + message.content|tojson + "<|end|>" }}
    {%- elif message.role == 'user' -%}
        {{- "<|start|>user<|message|>" ~ message.content ~ "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start|>assistant
{%- endif -%}
'''

MISTRAL = r'''
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, roles must alternate user/assistant/user/assistant/...") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length < 2 %}
                {{- raise_exception("Tool call ids need at least 2 letters.") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id[-9:] + '"}' }}
            {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token }}
    {%- elif message["role"] == "tool_results" or message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}
            {%- set content = message.content.content %}
        {%- else %}
            {%- set content = message.content %}
        {%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ", " }}
        {{- '"call_id": "' + message.tool_call_id|string + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user, assistant, tool and system roles are known.") }}
    {%- endif %}
{%- endfor %}
'''

DEEPSEEK = r'''{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='', is_first_sp=true, is_last_user=false) %}{%- for message in messages %}{%- if message['role'] == 'system' %}{%- if ns.is_first_sp %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.is_first_sp = false %}{%- else %}{% set ns.system_prompt = ns.system_prompt + '\n\n' + message['content'] %}{%- endif %}{%- endif %}{%- endfor %}{{ bos_token }}{{ ns.system_prompt }}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{%- set ns.is_first = false -%}{%- set ns.is_last_user = true -%}{{'<｜User｜>' ~ message['content'] ~ '<｜Assistant｜>'}}{%- endif %}{%- if message['role'] == 'assistant' and message['tool_calls'] is defined and message['tool_calls'] is not none %}{%- set ns.is_last_user = false -%}{%- if ns.is_tool %}{{'<｜tool▁outputs▁end｜>'}}{%- endif %}{%- set ns.is_first = false %}{%- set ns.is_tool = false -%}{%- set ns.is_output_first = true %}{%- for tool in message['tool_calls'] %}{%- if not ns.is_first %}{%- if message['content'] is none %}{{'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + tool['function']['name'] + '\n' + '```json' + '\n' + tool['function']['arguments']|tojson + '\n' + '```' + '<｜tool▁call▁end｜>'}}{%- else %}{{message['content'] ~ '<｜tool▁calls▁begin｜>' ~ tool['function']['name'] ~ tool['function']['arguments']|tojson}}{%- endif %}{%- set ns.is_first = true -%}{%- else %}{{'\n' + '<｜tool▁call▁begin｜>' + tool['type'] + '<｜tool▁sep｜>' + tool['function']['name']}}{%- endif %}{%- endfor %}{{'<｜tool▁calls▁end｜><｜end▁of▁sentence｜>'}}{%- endif %}{%- if message['role'] == 'assistant' and (message['tool_calls'] is not defined or message['tool_calls'] is none) %}{%- set content = message['content'] %}{%- if '</think>' in content %}{%- set content = content.split('</think>', 1)[1] %}{%- endif %}{{content + '<｜end▁of▁sentence｜>'}}{%- endif %}{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}{{'<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>' ~ message['content'] ~ '<｜tool▁output▁end｜>'}}{%- set ns.is_output_first = false %}{%- else %}{{'\n<｜tool▁output▁begin｜>' ~ message['content'] ~ '<｜tool▁output▁end｜>'}}{%- endif %}{%- endif %}{%- endfor -%}{% if ns.is_tool %}{{'<｜tool▁outputs▁end｜>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<｜Assistant｜><think>\n'}}{% endif %}'''

PHI = r'''{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}{% else %}{{ '<|' + message['role'] + '|>' + message['content']|string + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}
'''

GEMMA3 = r'''{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
'''

COMMAND = r'''
{%- macro document_turn(documents) -%}
<|START_OF_TURN_TOKEN|>[
{%- for doc in documents %}
{%- set comma = loop.last ~ '' %}
{"tool_call_id": "{{ loop.index0 }}", "text": {{ doc.text|tojson }}, "title": {{ doc['title']|default('none', true)|tojson }}}{{ ',' if comma == 'False' }}
{%- endfor %}
]<|END_OF_TURN_TOKEN|>
{%- endmacro %}
{%- macro calls(list) %}[
{%- for tc in list %}
    {"tool_call_id": "{{ ids.value }}", "tool_name": "{{ tc['function']['name'] }}", "parameters": {{ tc['function']['arguments']|tojson }}}{% if not loop.last %},{% endif %}
    {%- set ids.value = ids.value + 1 %}
{%- endfor %}
]{%- endmacro %}
{%- set ids = namespace(value=0) -%}
{%- set safety_mode = safety_mode | default('CONTEXTUAL', true) | upper -%}
{{ bos_token }}<|SYSTEM|>{{ safety_mode }}
{%- if tools or documents %} has tools
{%- endif %}
{%- for message in messages %}
    {%- if message.role|lower == 'system' and not (loop.first) %}
<|SYSTEM_TOKEN|>{{ message.content }}<|END|>
    {%- elif message.role|lower == 'user' %}
<|USER_TOKEN|>{{ message.content }}<|END|>{%- if documents and not loop.nextitem %}{{ document_turn(documents) }}{%- endif %}
    {%- elif message.role|lower in ['assistant', 'chatbot'] %}
<|CHATBOT_TOKEN|>{% if message.tool_calls %}{{ calls(message.tool_calls) }}{% else %}{{ message.content|trim }}{% endif %}<|END|>
    {%- elif message.role|lower == 'tool' and (not loop.previtem or loop.previtem.role|lower != 'tool') %}
<|RESULTS|>[
        {%- set stop = namespace(found=false) %}
        {%- for later in messages[loop.index0:] if not stop.found %}
            {%- if later.role|lower == 'tool' %}
{"content": {{ later.content|tojson }}}
            {%- else %}{% set stop.found = true %}{% endif %}
        {%- endfor %}
]
    {%- endif %}
{%- endfor %}{% if add_generation_prompt %}<|CHATBOT_TOKEN|>{% endif %}
'''

GLM = r'''[gMASK]<sop>
{%- if tools -%}
<|system|>
# Tools
{% for tool in tools %}
{{ tool | tojson(ensure_ascii=False) }}
{% endfor %}
{%- endif -%}
{%- macro visible_text(content) -%}
    {%- if content is string -%}
        {{- content }}
    {%- elif content is iterable and content is not mapping -%}
        {%- for item in content -%}
            {%- if item is mapping and item.type == 'text' -%}
                {{- item.text }}
            {%- elif item is string -%}
                {{- item }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{- content }}
    {%- endif -%}
{%- endmacro -%}
{%- set ns = namespace(last_user_index=-1) %}
{%- for m in messages %}
    {%- if m.role == 'user' %}
        {% set ns.last_user_index = loop.index0 -%}
    {%- endif %}
{%- endfor %}
{% for m in messages %}
{%- if m.role == 'user' -%}<|user|>
{{ visible_text(m.content) }}
{{- '/nothink' if (enable_thinking is defined and not enable_thinking and not visible_text(m.content).endswith("/nothink")) else '' -}}
{%- elif m.role == 'assistant' -%}
<|assistant|>
{%- set reasoning_content = '' %}
{%- set content = visible_text(m.content) %}
{%- if m.reasoning_content is string %}
    {%- set reasoning_content = m.reasoning_content %}
{%- else %}
    {%- if '</think>' in content %}
        {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
        {%- set content = content.split('</think>')[-1].lstrip('\n') %}
    {%- endif %}
{%- endif %}
{%- if loop.index0 > ns.last_user_index and reasoning_content -%}
{{ '\n<think>' + reasoning_content.strip() +  '</think>'}}
{%- else -%}
{{ '\n<think></think>' }}
{%- endif -%}
{%- if content.strip() -%}
{{ '\n' + content.strip() }}
{%- endif -%}
{% if m.tool_calls %}
{% for tc in m.tool_calls %}
{%- if tc.function %}
    {%- set tc = tc.function %}
{%- endif %}
{{ '\n<tool_call>' + tc.name }}
{% set _args = tc.arguments %}
{% for k, v in _args.items() %}
<arg_key>{{ k }}</arg_key>
<arg_value>{{ v | tojson(ensure_ascii=False) if v is not string else v }}</arg_value>
{% endfor %}
</tool_call>{% endfor %}
{% endif %}
{%- elif m.role == 'tool' -%}
{%- if m.content is string -%}
{%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
    {{- '<|observation|>' }}
{%- endif %}
{{- '\n<tool_response>\n' }}
{{- m.content }}
{{- '\n</tool_response>' }}
{%- else -%}
<|observation|>{% for tr in m.content %}

<tool_response>
{{ tr.output if tr.output is defined else tr }}
</tool_response>{% endfor -%}
{% endif -%}
{%- elif m.role == 'system' -%}
<|system|>
{{ visible_text(m.content) }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    <|assistant|>{{- '\n<think></think>' if (enable_thinking is defined and not enable_thinking) else '' -}}
{%- endif -%}
'''

GRANITE = r'''{%- set tools_prefix = 'Here are your tools:\n<tools>' %}
{%- set g_default = namespace(text='You are a helpful assistant. Today is ' ~ strftime_now('%B %d, %Y') ~ '.') %}
{%- set ns = namespace(sys='', listing='') %}
{%- if tools %}
    {%- for tool in tools %}
        {%- set ns.listing = ns.listing ~ '\n' ~ (tool | tojson) %}
    {%- endfor %}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'system' and loop.first %}
        {%- if message.content is string %}
            {%- set ns.sys = message.content %}
        {%- else %}
            {%- for entry in message.content %}
                {%- if entry.type == 'text' %}
                    {%- if ns.sys != '' %}{%- set ns.sys = ns.sys + '\n' %}{%- endif %}
                    {%- set ns.sys = ns.sys + entry.text %}
                {%- endif %}
            {%- endfor %}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{{- '<|start_of_role|>system<|end_of_role|>' ~ (ns.sys if ns.sys else g_default.text) }}
{%- if ns.listing %}{{- '\n' ~ tools_prefix ~ ns.listing ~ '\n</tools>' }}{%- endif %}
{{- '<|end_of_text|>\n' }}
{%- for message in messages if message.role != 'system' %}
    {%- set content = namespace(val='') %}
    {%- if message.content is string %}
        {%- set content.val = message.content %}
    {%- elif message.content is iterable %}
        {%- for entry in message.content %}
            {%- if entry.type == 'text' %}{%- set content.val = content.val + entry.text %}{%- endif %}
        {%- endfor %}
    {%- endif %}
    {{- '<|start_of_role|>' + message.role + '<|end_of_role|>' + content.val }}
    {%- for tool_call in message.tool_calls or [] %}
        {{- '\n<tool_call>\n{"name": "' ~ tool_call.function.name ~ '", "arguments": ' ~ (tool_call.function.arguments | tojson) ~ '}\n</tool_call>' }}
    {%- endfor %}
    {{- '<|end_of_text|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_of_role|>assistant<|end_of_role|>' }}{%- endif %}'''

MINIMAX = r'''{%- set toolcall_begin = '<mm:tool_call>' -%}
{%- macro render_value(v) -%}{{- v if v is string else v | tojson(ensure_ascii=False) -}}{%- endmacro -%}
{%- macro build_system(message) -%}
    {%- if message and message.content -%}{{- message.content -}}{%- else -%}{{- model_identity | default('You are a helpful assistant.') -}}{%- endif -%}
{%- endmacro -%}
{%- if messages and messages[0].role == 'system' -%}
    {%- set system_message = messages[0] -%}
    {%- set conversation = messages[1:] -%}
{%- else -%}
    {%- set system_message = none -%}
    {%- set conversation = messages -%}
{%- endif -%}
{%- set ns = namespace(last_user=-1) -%}
{%- for m in conversation %}
    {%- if m.role == 'user' %}{% set ns.last_user = loop.index0 %}{% endif %}
{%- endfor %}
{{- ']~!b[' ~ ']~b]system' ~ '\n' ~ build_system(system_message) -}}
{%- if tools -%}
    {{- '\n\n# Tools\n' ~ '<tools>' ~ '\n' -}}
    {%- for tool in tools -%}<tool>{{ tool.function | tojson(ensure_ascii=False) }}</tool>
{% endfor -%}
    {{- '</tools>' -}}
{%- endif -%}
{{- '[e~[\n' -}}
{%- set last_tool_call = namespace(name=none) -%}
{%- for message in conversation -%}
    {%- if message.role == 'assistant' -%}
        {{- ']~b]ai' ~ '\n' -}}
        {%- set reasoning = message.reasoning_content if message.reasoning_content is string else '' -%}
        {%- set content = message.content if message.content is string else '' -%}
        {%- if not reasoning and '</think>' in content -%}
            {%- set reasoning = content.split('</think>')[0].strip('\n').split('<think>')[-1].strip('\n') -%}
            {%- set content = content.split('</think>')[-1].strip('\n') -%}
        {%- endif -%}
        {%- if reasoning and loop.index0 > ns.last_user -%}{{- '<think>\n' ~ reasoning ~ '\n</think>\n\n' -}}{%- endif -%}
        {{- content -}}
        {%- if message.tool_calls -%}
            {{- '\n' ~ toolcall_begin ~ '\n' -}}
            {%- for tc in message.tool_calls -%}
                {{- '<invoke name="' + tc.function.name + '">' -}}
                {%- for k, v in tc.function.arguments.items() %}
<parameter name="{{ k }}">{{ render_value(v) }}</parameter>
                {%- endfor -%}
                {{- '</invoke>' ~ '\n' -}}
                {%- set last_tool_call.name = tc.function.name -%}
            {%- endfor -%}
        {%- endif -%}
        {{- '[e~[\n' -}}
    {%- elif message.role == 'tool' -%}
        {%- if last_tool_call.name is none -%}{{- raise_exception('A tool result needs a call before it.') -}}{%- endif -%}
        {%- if loop.first or (conversation[loop.index0 - 1].role != 'tool') -%}{{- ']~b]tool' -}}{%- endif -%}
        {%- if message.content is string -%}
            {{- '\n<response>' ~ message.content ~ '</response>' -}}
        {%- else -%}
            {%- for tr in message.content -%}{{- '\n<response>' ~ (tr.output if tr.output is defined else (tr.text if tr.type == 'text' and tr.text is defined else tr)) ~ '\n</response>' -}}{%- endfor -%}
        {%- endif -%}
        {%- if loop.last or (conversation[loop.index0 + 1].role != 'tool') -%}{{- '[e~[\n' -}}{%- endif -%}
    {%- elif message.role == 'user' -%}
        {{- ']~b]user' ~ '\n' ~ (message.content if message.content is string else message.content|map(attribute='text')|join) ~ '[e~[\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- ']~b]ai' ~ '\n' ~ '<think>' ~ '\n' -}}{%- endif -%}'''

SMOL = r'''{#- defaults -#}
{%- if enable_thinking is not defined -%}
{%- set enable_thinking = true -%}
{%- endif -%}
{%- if enable_thinking -%}{%- set reasoning_mode = "/think" -%}{%- else -%}{%- set reasoning_mode = "/no_think" -%}{%- endif -%}
{{- "<|im_start|>system\n" -}}
{%- if messages[0].role == "system" -%}
  {%- set system_message = messages[0].content -%}
  {%- if "/no_think" in system_message -%}{%- set reasoning_mode = "/no_think" -%}{%- elif "/think" in system_message -%}{%- set reasoning_mode = "/think" -%}{%- endif -%}
  {%- set custom_instructions = system_message.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- endif -%}
## Metadata

{% set today = strftime_now("%d %B %Y") -%}
Today: {{ today }}
Mode: {{ reasoning_mode + "\n\n" }}
{%- if custom_instructions -%}
{{ custom_instructions + "\n\n" }}
{%- endif -%}
{%- set xml_tools = xml_tools or tools -%}
{%- if xml_tools -%}
  {%- set ns = namespace(xml_tool_string="List:\n<tools>\n") -%}
  {%- for tool in xml_tools[:] -%}
    {%- set ns.xml_tool_string = ns.xml_tool_string ~ (tool | string) ~ "\n" -%}
  {%- endfor -%}
  {{- ns.xml_tool_string + "</tools>" -}}
{%- endif -%}
{{- "<|im_end|>\n" -}}
{%- for message in messages -%}
  {%- set content = message.content if message.content is string else "" -%}
  {%- if message.role == "user" -%}
    {{ "<|im_start|>" + message.role + "\n" + content + "<|im_end|>\n" }}
  {%- elif message.role == "assistant" -%}
    {% generation %}
    {%- if reasoning_mode == "/think" -%}
      {{ "<|im_start|>assistant\n" + content.lstrip("\n") + "<|im_end|>\n" }}
    {%- else -%}
      {{ "<|im_start|>assistant\n" + "<think>\n\n</think>\n" + content.lstrip("\n") + "<|im_end|>\n" }}
    {%- endif -%}
    {% endgeneration %}
  {%- elif message.role == "tool" -%}
    {{ "<|im_start|>" + "user\n" + content + "<|im_end|>\n" }}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {%- if reasoning_mode == "/think" -%}{{ "<|im_start|>assistant\n" }}{%- else -%}{{ "<|im_start|>assistant\n" + "<think>\n\n</think>\n" }}{%- endif -%}
{%- endif -%}'''

FUNCTIONARY = r'''{% macro convert(spec) %}
{% if spec.type == "object" and spec.properties %}
{
{% for name, inner in spec.properties.items() %}
{% if inner.description %}
// {{ inner.description }}
{% endif %}
{{ name }}{{ '' if name in (spec.required or []) else '?' }}: {{ convert(inner)|trim }},
{% endfor %}
}
{% elif spec.enum %}
{% for option in spec.enum %}{{ option|tojson }}{{ ' | ' if not loop.last }}{% endfor %}
{% else %}
{{ {'integer': 'number', 'string': 'string', 'boolean': 'boolean'}.get(spec.type if spec.type is string else 'any', 'any') }}
{% endif %}
{% endmacro %}
{% for tool in tools or [] %}
{% filter indent(2, true) %}
type {{ tool.function.name }} = {{ convert(tool.function.parameters or {})|trim }}
{% endfilter %}
{% endfor %}
{% set roles = dict(user='U', assistant='A', system='S') %}
{% for message in messages %}
{% set content %}
{% if message.content is string %}{{ message.content }}{% elif message.content %}{% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}
{% endset %}
{% call(prefix) turn(message.role) %}{{ prefix }}:{{ content|trim }}{% endcall %}
{% endfor %}
{% macro turn(role) %}<{{ role }}>{{ caller(roles.get(role, '?')) }}</{{ role }}>{% endmacro %}
'''
FUNCTIONARY = FUNCTIONARY.replace("{% macro turn(role) %}<{{ role }}>{{ caller(roles.get(role, '?')) }}</{{ role }}>{% endmacro %}\n", "")
FUNCTIONARY = "{% macro turn(role) %}<{{ role }}>{{ caller(roles.get(role, '?')) }}</{{ role }}>\n{% endmacro %}\n" + FUNCTIONARY

SEED = r'''{%- set effort_table = {-1: '', 0: '<seed:budget>0 think nothing', 512: '<seed:budget>512'} -%}
{%- if thinking_budget is not defined -%}{%- set thinking_budget = -1 -%}{%- endif -%}
{%- set buckets = effort_table | dictsort -%}
{%- set chosen = namespace(text=none) -%}
{%- for k, v in buckets -%}
{%- if chosen.text is none and thinking_budget <= k -%}{%- set chosen.text = v -%}{%- endif -%}
{%- endfor -%}
{%- macro py_type(t) -%}
{%- if t == "string" -%}str
{%- elif t in ("number", "integer") -%}int
{%- elif t == "boolean" -%}bool
{%- elif t == "array" -%}list
{%- else -%}Any{%- endif -%}
{%- endmacro -%}
{%- if tools and tools is iterable -%}
{%- for item in tools if item.type == "function" %}
Function:
def {{ item.function.name }}(
{%- for name, spec in (item.function.parameters.properties or {}).items() %}
{{- name }}: {{ py_type(spec.type) }}{{ "" if loop.last else ", " }}
{%- endfor -%}
):
    """
    {{ item.function.description | default('') | trim }}
    {%- if item.function.parameters.required %}

    Args:
    {%- for name, spec in (item.function.parameters.properties or {}).items() %}

    - {{ name }} ({{ py_type(spec.type) }}) [{{ "must" if name in item.function.parameters.required else "may" }}]
    {%- endfor %}
    {%- endif %}
    """
{%- endfor %}
{%- endif %}
{%- for message in messages -%}
{%- if message.role in ["user", "system"] -%}
{{ bos_token + message.role + "\n" + message.content|string + eos_token }}
{%- elif message.role == "assistant" -%}
{{ bos_token + message.role }}
{%- if message.reasoning_content is defined and message.reasoning_content is string and message.reasoning_content | trim | length > 0 -%}
{{ "\n" + "<seed:think>" + message.reasoning_content | trim + "</seed:think>" }}
{%- endif -%}
{%- if message.content is defined and message.content is string and message.content | trim | length > 0 -%}
{{ "\n" + message.content | trim + eos_token }}
{%- endif -%}
{%- for item in message.tool_calls or [] -%}
{{ "\n<seed:tool_call>\n<function=" + item.function.name + ">\n" }}
{%- for arg_name, arg_value in item.function.arguments | items -%}
{{ "<parameter=" + arg_name + ">" }}
{%- set arg_value = arg_value if arg_value is string else arg_value | string -%}
{{ arg_value + "</parameter>\n" }}
{%- endfor -%}
{{ "</function>\n</seed:tool_call>" + eos_token }}
{%- endfor -%}
{%- else -%}
{{ bos_token + message.role + "\n" + message.content|string + eos_token }}
{%- endif -%}
{%- endfor -%}
{%- if chosen.text -%}{{ chosen.text }}{%- endif -%}
{%- if add_generation_prompt -%}{{ bos_token + "assistant\n" }}{%- endif -%}'''

STYLES = {"harmony": HARMONY, "mistral": MISTRAL, "deepseek": DEEPSEEK, "phi": PHI, "gemma3": GEMMA3, "command": COMMAND, "glm": GLM,
          "granite": GRANITE, "minimax": MINIMAX, "smol": SMOL, "functionary": FUNCTIONARY, "seed": SEED}
