// Made from schemas/*.json by `npm run types`, with ajv. Not to be edited.
import ucs2length from 'ajv/dist/runtime/ucs2length.js';
"use strict";
export const isCreateResponse = validate10;
const schema11 = {"$schema":"http://json-schema.org/draft-07/schema#","$id":"create-response.json","title":"CreateResponse","description":"What POST /api/v1/responses takes. A null anywhere in it means absent; unknown fields are ignored.","type":"object","properties":{"model":{"$ref":"#/$defs/ModelName"},"input":{"$ref":"#/$defs/ResponseInput"},"instructions":{"type":"string"},"tools":{"type":"array","items":{"$ref":"#/$defs/ToolParam"},"maxItems":512},"tool_choice":{"$ref":"#/$defs/ToolChoice"},"parallel_tool_calls":{"type":"boolean"},"max_tool_calls":{"type":"integer","minimum":1},"text":{"$ref":"#/$defs/TextParam"},"reasoning":{"$ref":"#/$defs/ReasoningParam"},"temperature":{"type":"number","minimum":0,"maximum":2},"top_p":{"type":"number","minimum":0,"maximum":1},"presence_penalty":{"type":"number","minimum":-2,"maximum":2},"frequency_penalty":{"type":"number","minimum":-2,"maximum":2},"top_logprobs":{"type":"integer","minimum":0,"maximum":20},"max_output_tokens":{"type":"integer","description":"For a key with credits, a spend limit or tokens per minute, all of it is reserved, and DEFAULT_MAX_OUTPUT_TOKENS is its default.","minimum":1,"maximum":2147483647},"include":{"type":"array","items":{"$ref":"#/$defs/Include"},"maxItems":16},"stream":{"type":"boolean"},"stream_options":{"type":"object","properties":{"include_obfuscation":{"description":"Has no effect: events are never padded.","type":"boolean"}},"required":[]},"store":{"type":"boolean"},"background":{"type":"boolean"},"truncation":{"enum":["auto","disabled"]},"service_tier":{"type":"string","maxLength":64},"metadata":{"type":"object","maxProperties":16,"propertyNames":{"maxLength":64},"additionalProperties":{"type":"string","maxLength":512},"tsType":"Readonly<Record<string, string>>"},"user":{"type":"string","maxLength":512},"safety_identifier":{"type":"string","maxLength":512},"prompt_cache_key":{"type":"string","maxLength":512},"context_management":{"type":"array","items":{"$ref":"#/$defs/ContextManagement"},"maxItems":16},"previous_response_id":{"type":"string"},"conversation":{"description":"Refused: nothing is stored."},"prompt":{"description":"Refused: nothing is stored."}},"required":["model","input"],"$defs":{"ModelName":{"type":"string","minLength":1,"maxLength":256,"pattern":"^\\P{Cc}+$","description":"1 to 256 printable characters."},"ResponseInput":{"type":["string","array"],"items":{"$ref":"#/$defs/InputItem"},"minItems":1,"maxItems":10000},"InputText":{"type":"object","description":"Text in a message or a tool output. Clients replay assistant text as output_text.","properties":{"type":{"enum":["input_text","output_text","text"]},"text":{"type":"string"}},"required":["type","text"]},"InputRefusal":{"type":"object","properties":{"type":{"const":"refusal"},"refusal":{"type":"string"}},"required":["type","refusal"]},"InputImage":{"type":"object","properties":{"type":{"const":"input_image"},"image_url":{"type":"string"},"detail":{"enum":["low","high","auto","original"]},"file_id":{"type":"string"}},"required":["type"]},"InputFile":{"type":"object","properties":{"type":{"const":"input_file"},"filename":{"type":"string","maxLength":1024},"file_data":{"type":"string","not":{"const":""}},"file_url":{"type":"string"},"file_id":{"type":"string"}},"required":["type"]},"InputPart":{"type":"object","discriminator":{"propertyName":"type"},"oneOf":[{"$ref":"#/$defs/InputText"},{"$ref":"#/$defs/InputRefusal"},{"$ref":"#/$defs/InputImage"},{"$ref":"#/$defs/InputFile"},{"$ref":"#/$defs/InputAudio"},{"$ref":"#/$defs/EncryptedPart"}]},"EncryptedPart":{"type":"object","description":"What only the server that wrote it can read. It is left out, and named in the x-dropped-items header.","properties":{"type":{"const":"encrypted_content"},"encrypted_content":{"type":"string"}},"required":["type"]},"InputMessage":{"type":"object","properties":{"type":{"const":"message"},"role":{"enum":["user","assistant","system","developer"]},"content":{"type":["string","array"],"items":{"$ref":"#/$defs/InputPart"},"maxItems":10000},"id":{"type":"string"},"status":{"type":"string"},"phase":{"type":"string","description":"Accepted and not passed on: the chat format has no place for it."},"tool_calls":{"type":"array","maxItems":0,"description":"Calls are `function_call` items of their own here."}},"required":["type","role","content"]},"InputFunctionCall":{"type":"object","properties":{"type":{"const":"function_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"name":{"type":"string","minLength":1,"maxLength":256},"arguments":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"},"namespace":{"type":"string","minLength":1,"maxLength":256}},"required":["type","call_id","name","arguments"]},"InputFunctionCallOutput":{"type":"object","properties":{"type":{"const":"function_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":["string","array"],"items":{"$ref":"#/$defs/InputPart"},"maxItems":10000},"name":{"type":"string","minLength":1,"maxLength":256,"description":"The name of the tool, for an output without a call_id."},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","output"],"description":"Without a call_id it reaches the model as a user message."},"InputReasoning":{"type":"object","properties":{"type":{"const":"reasoning"},"summary":{"description":"Parts with a `text`, or texts. It is read where `content` says nothing. What cannot be read is left out.","tsType":"unknown"},"content":{"description":"Parts with a `text`, or texts. What cannot be read is left out.","tsType":"unknown"},"encrypted_content":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type"]},"ItemReference":{"type":"object","description":"A pointer to a stored item. Nothing is stored, so it is refused with a sentence that says what to send instead.","properties":{"type":{"const":"item_reference"},"id":{"type":"string"}},"required":["type","id"]},"InputItem":{"title":"InputItem","anyOf":[{"$ref":"#/$defs/KnownItem"},{"$ref":"#/$defs/UnknownItem"}]},"KnownItem":{"type":"object","description":"An item of a known type.","discriminator":{"propertyName":"type"},"oneOf":[{"$ref":"#/$defs/InputMessage"},{"$ref":"#/$defs/InputFunctionCall"},{"$ref":"#/$defs/InputFunctionCallOutput"},{"$ref":"#/$defs/InputReasoning"},{"$ref":"#/$defs/ItemReference"},{"$ref":"#/$defs/InputCustomToolCall"},{"$ref":"#/$defs/InputCustomToolCallOutput"},{"$ref":"#/$defs/InputToolSearchCall"},{"$ref":"#/$defs/InputToolSearchOutput"},{"$ref":"#/$defs/InputLocalShellCall"},{"$ref":"#/$defs/InputLocalShellCallOutput"},{"$ref":"#/$defs/InputShellCall"},{"$ref":"#/$defs/InputShellCallOutput"},{"$ref":"#/$defs/InputApplyPatchCall"},{"$ref":"#/$defs/InputApplyPatchCallOutput"},{"$ref":"#/$defs/AdditionalTools"},{"$ref":"#/$defs/InputCompaction"},{"$ref":"#/$defs/CompactionTrigger"},{"$ref":"#/$defs/InputAgentMessage"},{"$ref":"#/$defs/ConfigurationUpdate"}]},"UnknownItem":{"type":"object","description":"An item of another type. The model is told in words of a call that another server executed, such as `web_search_call`. Any other is left out, and the x-dropped-items header names its type.","properties":{"type":{"type":"string","minLength":1,"not":{"enum":["message","function_call","function_call_output","reasoning","item_reference","custom_tool_call","custom_tool_call_output","tool_search_call","tool_search_output","local_shell_call","local_shell_call_output","shell_call","shell_call_output","apply_patch_call","apply_patch_call_output","additional_tools","compaction","compaction_trigger","agent_message","configuration_update"]},"tsType":"UnknownItemType"}},"required":["type"]},"FunctionTool":{"type":"object","properties":{"type":{"const":"function"},"name":{"type":"string","minLength":1,"maxLength":256},"description":{"type":"string"},"parameters":{"type":"object","tsType":"Readonly<Record<string, unknown>>"},"strict":{"type":"boolean"}},"required":["type","name"]},"HostedTool":{"type":"object","description":"A tool that a server would execute, or of an unknown type.","properties":{"type":{"type":"string","minLength":1,"maxLength":64}},"required":["type"]},"ToolParam":{"type":"object","required":["type"],"properties":{"type":{"type":"string","minLength":1,"maxLength":64}},"tsType":"FunctionTool | CustomTool | NamespaceTool | ToolSearchTool | LocalShellTool | ShellTool | ApplyPatchTool | HostedTool","allOf":[{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"function"}}},"then":{"$ref":"#/$defs/FunctionTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"custom"}}},"then":{"$ref":"#/$defs/CustomTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"namespace"}}},"then":{"$ref":"#/$defs/NamespaceTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"tool_search"}}},"then":{"$ref":"#/$defs/ToolSearchTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"local_shell"}}},"then":{"$ref":"#/$defs/LocalShellTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"shell"}}},"then":{"$ref":"#/$defs/ShellTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"apply_patch"}}},"then":{"$ref":"#/$defs/ApplyPatchTool"}}]},"NamedTool":{"type":"object","properties":{"type":{"type":"string","minLength":1},"name":{"type":"string","minLength":1},"namespace":{"type":"string","minLength":1}},"required":["type"]},"AllowedTools":{"type":"object","properties":{"type":{"const":"allowed_tools"},"mode":{"enum":["auto","required"]},"tools":{"type":"array","items":{"$ref":"#/$defs/NamedTool"},"minItems":1,"maxItems":512}},"required":["type","tools"]},"FunctionChoice":{"type":"object","properties":{"type":{"const":"function"},"name":{"type":"string","minLength":1,"maxLength":256},"namespace":{"type":"string","minLength":1,"maxLength":256}},"required":["type","name"]},"ToolChoice":{"type":["string","object"],"if":{"type":"string"},"then":{"enum":["none","auto","required"]},"else":{"type":"object","required":["type"],"properties":{"type":{"type":"string","minLength":1}},"allOf":[{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"function"}}},"then":{"$ref":"#/$defs/FunctionChoice"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"allowed_tools"}}},"then":{"$ref":"#/$defs/AllowedTools"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"custom"}}},"then":{"$ref":"#/$defs/CustomChoice"}}]},"tsType":"'none' | 'auto' | 'required' | FunctionChoice | CustomChoice | AllowedTools | HostedTool"},"JsonSchemaFormat":{"type":"object","properties":{"type":{"const":"json_schema"},"name":{"type":"string","pattern":"^[a-zA-Z0-9_-]{1,64}$","description":"1 to 64 letters, digits, underscores and hyphens."},"description":{"type":"string"},"schema":{"type":"object","tsType":"Readonly<Record<string, unknown>>"},"strict":{"type":"boolean"}},"required":["type","schema"]},"RequestedFormat":{"type":"object","discriminator":{"propertyName":"type"},"oneOf":[{"$ref":"response.json#/$defs/PlainTextFormat"},{"$ref":"response.json#/$defs/JsonObjectFormat"},{"$ref":"#/$defs/JsonSchemaFormat"}]},"TextParam":{"type":"object","properties":{"format":{"$ref":"#/$defs/RequestedFormat"},"verbosity":{"$ref":"response.json#/$defs/Verbosity"}},"required":[]},"ReasoningEffort":{"title":"ReasoningEffort","enum":["none","minimal","low","medium","high","xhigh","max"]},"ReasoningParam":{"type":"object","properties":{"effort":{"$ref":"#/$defs/ReasoningEffort"},"summary":{"enum":["auto","concise","detailed"]},"generate_summary":{"enum":["auto","concise","detailed"]}},"required":[]},"Include":{"type":"string","maxLength":256,"description":"Values other than `reasoning.encrypted_content` and `message.output_text.logprobs` have no effect."},"InputAudio":{"type":"object","properties":{"type":{"const":"input_audio"},"input_audio":{"type":"object","properties":{"data":{"type":"string","not":{"const":""}},"format":{"type":"string","minLength":1,"maxLength":16}},"required":["data","format"]}},"required":["type","input_audio"]},"InputCustomToolCall":{"type":"object","properties":{"type":{"const":"custom_tool_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"name":{"type":"string","minLength":1,"maxLength":256},"namespace":{"type":"string","minLength":1,"maxLength":256},"input":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","name","input"]},"InputCustomToolCallOutput":{"type":"object","properties":{"type":{"const":"custom_tool_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":["string","array"],"items":{"$ref":"#/$defs/InputPart"},"maxItems":10000},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","output"]},"InputToolSearchCall":{"type":"object","properties":{"type":{"const":"tool_search_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"execution":{"enum":["client","server"]},"arguments":{"tsType":"unknown"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","arguments"],"description":"Without a call_id the server did the search, and the item is left out."},"InputToolSearchOutput":{"type":"object","properties":{"type":{"const":"tool_search_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"execution":{"enum":["client","server"]},"tools":{"type":"array","items":{"$ref":"#/$defs/ToolParam"},"maxItems":512},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","tools"],"description":"The tools that a search found; they are offered from now on. Without a call_id the rest of the item is left out."},"InputLocalShellCall":{"type":"object","properties":{"type":{"const":"local_shell_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"action":{"$ref":"#/$defs/InputLocalShellAction"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","action"]},"InputLocalShellAction":{"type":"object","properties":{"type":{"const":"exec"},"command":{"type":"array","items":{"type":"string"}},"env":{"type":"object","additionalProperties":{"type":"string"},"tsType":"Readonly<Record<string, string>>"},"working_directory":{"type":"string"},"timeout_ms":{"type":"number"},"user":{"type":"string"}},"required":["command"]},"InputLocalShellCallOutput":{"type":"object","properties":{"type":{"const":"local_shell_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","output"],"description":"The call is named by call_id, or by id as the older form has it."},"InputShellCall":{"type":"object","properties":{"type":{"const":"shell_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"action":{"$ref":"#/$defs/InputShellAction"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","action"]},"InputShellAction":{"type":"object","properties":{"commands":{"type":"array","items":{"type":"string"}},"timeout_ms":{"type":"number"},"max_output_length":{"type":"number"}},"required":["commands"]},"InputShellCallOutput":{"type":"object","properties":{"type":{"const":"shell_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":["string","array"],"items":{"type":"object","tsType":"Readonly<Record<string, unknown>>"},"maxItems":10000},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","output"]},"InputApplyPatchCall":{"type":"object","properties":{"type":{"const":"apply_patch_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"operation":{"$ref":"response.json#/$defs/PatchOperation"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","operation"]},"InputApplyPatchCallOutput":{"type":"object","properties":{"type":{"const":"apply_patch_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id"]},"AdditionalTools":{"type":"object","properties":{"type":{"const":"additional_tools"},"role":{"type":"string"},"tools":{"type":"array","items":{"$ref":"#/$defs/ToolParam"},"maxItems":512},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","tools"],"description":"Tools given as an item of the input."},"ContextManagement":{"type":"object","properties":{"type":{"type":"string","maxLength":64},"compact_threshold":{"type":"integer","minimum":1,"description":"With the type `compaction`: the number of input tokens, as estimated, from which the history is compacted before the answer."}},"required":["type"],"description":"An entry of another type than `compaction`, or without a threshold, is ignored."},"InputCompaction":{"type":"object","properties":{"type":{"const":"compaction"},"encrypted_content":{"type":"string","maxLength":10485760},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","encrypted_content"],"description":"The compaction of a longer history, which this gateway made for this caller. It replaces all items before it. One that cannot be read replaces nothing, and the model is told so."},"CompactionTrigger":{"type":"object","properties":{"type":{"const":"compaction_trigger"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type"],"description":"Asks for a compaction of all items before it, instead of an answer. It must be the last item."},"InputAgentMessage":{"type":"object","properties":{"type":{"const":"agent_message"},"id":{"type":"string"},"author":{"type":"string"},"recipient":{"type":"string"},"content":{"type":"array","items":{"$ref":"#/$defs/AgentMessagePart"}}},"required":["type","content"],"description":"A message from one agent of the client to another, such as the task of a sub-agent in Codex."},"AgentMessagePart":{"type":"object","discriminator":{"propertyName":"type"},"oneOf":[{"$ref":"#/$defs/InputText"},{"$ref":"#/$defs/InputImage"},{"$ref":"#/$defs/AgentPayload"}]},"AgentPayload":{"type":"object","properties":{"type":{"const":"encrypted_content"},"encrypted_content":{"type":"string"}},"required":["type","encrypted_content"],"description":"The text that the model wrote for another agent. This gateway encrypts no arguments, so it comes back as plain text."},"ConfigurationUpdate":{"type":"object","properties":{"type":{"const":"configuration_update"},"id":{"type":"string"},"reasoning":{"type":"object","properties":{"effort":{"$ref":"#/$defs/ReasoningEffort"}},"required":[]},"text":{"$ref":"#/$defs/TextParam"}},"required":["type"],"description":"Replaces the reasoning effort and the text format of the request. The last one wins."},"CustomTool":{"type":"object","properties":{"type":{"const":"custom"},"name":{"type":"string","minLength":1,"maxLength":256},"description":{"type":"string"},"format":{"$ref":"#/$defs/CustomToolFormat"}},"required":["type","name"]},"CustomToolFormat":{"type":"object","properties":{"type":{"enum":["text","grammar"]},"syntax":{"type":"string","maxLength":64},"definition":{"type":"string"}},"required":["type"]},"NamespaceTool":{"type":"object","properties":{"type":{"const":"namespace"},"name":{"type":"string","minLength":1,"maxLength":256},"description":{"type":"string"},"tools":{"type":"array","items":{"$ref":"#/$defs/ToolParam"},"maxItems":512}},"required":["type","name","tools"]},"ToolSearchTool":{"type":"object","properties":{"type":{"const":"tool_search"},"execution":{"enum":["client","server"]},"description":{"type":"string"},"parameters":{"type":"object","tsType":"Readonly<Record<string, unknown>>"}},"required":["type"]},"LocalShellTool":{"type":"object","properties":{"type":{"const":"local_shell"}},"required":["type"]},"ShellTool":{"type":"object","properties":{"type":{"const":"shell"},"environment":{"type":"object","properties":{"type":{"type":"string"}},"required":[]}},"required":["type"]},"ApplyPatchTool":{"type":"object","properties":{"type":{"const":"apply_patch"}},"required":["type"]},"CustomChoice":{"type":"object","properties":{"type":{"const":"custom"},"name":{"type":"string","minLength":1,"maxLength":256},"namespace":{"type":"string","minLength":1,"maxLength":256}},"required":["type","name"]}}};
const schema12 = {"type":"string","minLength":1,"maxLength":256,"pattern":"^\\P{Cc}+$","description":"1 to 256 printable characters."};
const schema134 = {"type":"string","maxLength":256,"description":"Values other than `reasoning.encrypted_content` and `message.output_text.logprobs` have no effect."};
const schema135 = {"type":"object","properties":{"type":{"type":"string","maxLength":64},"compact_threshold":{"type":"integer","minimum":1,"description":"With the type `compaction`: the number of input tokens, as estimated, from which the history is compacted before the answer."}},"required":["type"],"description":"An entry of another type than `compaction`, or without a threshold, is ignored."};
const func2 = ucs2length.default;
const pattern0 = new RegExp("^\\P{Cc}+$", "u");
const schema13 = {"type":["string","array"],"items":{"$ref":"#/$defs/InputItem"},"minItems":1,"maxItems":10000};
const schema14 = {"title":"InputItem","anyOf":[{"$ref":"#/$defs/KnownItem"},{"$ref":"#/$defs/UnknownItem"}]};
const schema126 = {"type":"object","description":"An item of another type. The model is told in words of a call that another server executed, such as `web_search_call`. Any other is left out, and the x-dropped-items header names its type.","properties":{"type":{"type":"string","minLength":1,"not":{"enum":["message","function_call","function_call_output","reasoning","item_reference","custom_tool_call","custom_tool_call_output","tool_search_call","tool_search_output","local_shell_call","local_shell_call_output","shell_call","shell_call_output","apply_patch_call","apply_patch_call_output","additional_tools","compaction","compaction_trigger","agent_message","configuration_update"]},"tsType":"UnknownItemType"}},"required":["type"]};
const schema15 = {"type":"object","description":"An item of a known type.","discriminator":{"propertyName":"type"},"oneOf":[{"$ref":"#/$defs/InputMessage"},{"$ref":"#/$defs/InputFunctionCall"},{"$ref":"#/$defs/InputFunctionCallOutput"},{"$ref":"#/$defs/InputReasoning"},{"$ref":"#/$defs/ItemReference"},{"$ref":"#/$defs/InputCustomToolCall"},{"$ref":"#/$defs/InputCustomToolCallOutput"},{"$ref":"#/$defs/InputToolSearchCall"},{"$ref":"#/$defs/InputToolSearchOutput"},{"$ref":"#/$defs/InputLocalShellCall"},{"$ref":"#/$defs/InputLocalShellCallOutput"},{"$ref":"#/$defs/InputShellCall"},{"$ref":"#/$defs/InputShellCallOutput"},{"$ref":"#/$defs/InputApplyPatchCall"},{"$ref":"#/$defs/InputApplyPatchCallOutput"},{"$ref":"#/$defs/AdditionalTools"},{"$ref":"#/$defs/InputCompaction"},{"$ref":"#/$defs/CompactionTrigger"},{"$ref":"#/$defs/InputAgentMessage"},{"$ref":"#/$defs/ConfigurationUpdate"}]};
const schema116 = {"type":"object","properties":{"type":{"const":"function_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"name":{"type":"string","minLength":1,"maxLength":256},"arguments":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"},"namespace":{"type":"string","minLength":1,"maxLength":256}},"required":["type","call_id","name","arguments"]};
const schema117 = {"type":"object","properties":{"type":{"const":"reasoning"},"summary":{"description":"Parts with a `text`, or texts. It is read where `content` says nothing. What cannot be read is left out.","tsType":"unknown"},"content":{"description":"Parts with a `text`, or texts. What cannot be read is left out.","tsType":"unknown"},"encrypted_content":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type"]};
const schema118 = {"type":"object","description":"A pointer to a stored item. Nothing is stored, so it is refused with a sentence that says what to send instead.","properties":{"type":{"const":"item_reference"},"id":{"type":"string"}},"required":["type","id"]};
const schema119 = {"type":"object","properties":{"type":{"const":"custom_tool_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"name":{"type":"string","minLength":1,"maxLength":256},"namespace":{"type":"string","minLength":1,"maxLength":256},"input":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","name","input"]};
const schema120 = {"type":"object","properties":{"type":{"const":"tool_search_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"execution":{"enum":["client","server"]},"arguments":{"tsType":"unknown"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","arguments"],"description":"Without a call_id the server did the search, and the item is left out."};
const schema121 = {"type":"object","properties":{"type":{"const":"local_shell_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","output"],"description":"The call is named by call_id, or by id as the older form has it."};
const schema122 = {"type":"object","properties":{"type":{"const":"shell_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":["string","array"],"items":{"type":"object","tsType":"Readonly<Record<string, unknown>>"},"maxItems":10000},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","output"]};
const schema123 = {"type":"object","properties":{"type":{"const":"apply_patch_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":"string"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id"]};
const schema124 = {"type":"object","properties":{"type":{"const":"compaction"},"encrypted_content":{"type":"string","maxLength":10485760},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","encrypted_content"],"description":"The compaction of a longer history, which this gateway made for this caller. It replaces all items before it. One that cannot be read replaces nothing, and the model is told so."};
const schema125 = {"type":"object","properties":{"type":{"const":"compaction_trigger"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type"],"description":"Asks for a compaction of all items before it, instead of an answer. It must be the last item."};
const schema16 = {"type":"object","properties":{"type":{"const":"message"},"role":{"enum":["user","assistant","system","developer"]},"content":{"type":["string","array"],"items":{"$ref":"#/$defs/InputPart"},"maxItems":10000},"id":{"type":"string"},"status":{"type":"string"},"phase":{"type":"string","description":"Accepted and not passed on: the chat format has no place for it."},"tool_calls":{"type":"array","maxItems":0,"description":"Calls are `function_call` items of their own here."}},"required":["type","role","content"]};
const schema17 = {"type":"object","discriminator":{"propertyName":"type"},"oneOf":[{"$ref":"#/$defs/InputText"},{"$ref":"#/$defs/InputRefusal"},{"$ref":"#/$defs/InputImage"},{"$ref":"#/$defs/InputFile"},{"$ref":"#/$defs/InputAudio"},{"$ref":"#/$defs/EncryptedPart"}]};
const schema18 = {"type":"object","description":"Text in a message or a tool output. Clients replay assistant text as output_text.","properties":{"type":{"enum":["input_text","output_text","text"]},"text":{"type":"string"}},"required":["type","text"]};
const schema21 = {"type":"object","properties":{"type":{"const":"refusal"},"refusal":{"type":"string"}},"required":["type","refusal"]};
const schema22 = {"type":"object","properties":{"type":{"const":"input_image"},"image_url":{"type":"string"},"detail":{"enum":["low","high","auto","original"]},"file_id":{"type":"string"}},"required":["type"]};
const schema23 = {"type":"object","properties":{"type":{"const":"input_file"},"filename":{"type":"string","maxLength":1024},"file_data":{"type":"string","not":{"const":""}},"file_url":{"type":"string"},"file_id":{"type":"string"}},"required":["type"]};
const schema24 = {"type":"object","properties":{"type":{"const":"input_audio"},"input_audio":{"type":"object","properties":{"data":{"type":"string","not":{"const":""}},"format":{"type":"string","minLength":1,"maxLength":16}},"required":["data","format"]}},"required":["type","input_audio"]};
const schema25 = {"type":"object","description":"What only the server that wrote it can read. It is left out, and named in the x-dropped-items header.","properties":{"type":{"const":"encrypted_content"},"encrypted_content":{"type":"string"}},"required":["type"]};

function validate15(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
const tag0 = data.type;
if(typeof tag0 == "string"){
if(tag0 === "input_text"){
const _errs3 = errors;
if(errors === _errs3){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.type === undefined) && (missing0 = "type")) || ((data.text === undefined) && (missing0 = "text"))){
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputText/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema18.required,parentSchema:schema18,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs5 = errors;
if(!(((data0 === "input_text") || (data0 === "output_text")) || (data0 === "text"))){
validate15.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputText/properties/type/enum",keyword:"enum",params:{allowedValues: schema18.properties.type.enum},message:"must be equal to one of the allowed values",schema:schema18.properties.type.enum,parentSchema:schema18.properties.type,data:data0}];
return false;
}
var valid3 = _errs5 === errors;
}
else {
var valid3 = true;
}
if(valid3){
if(data.text !== undefined){
let data1 = data.text;
const _errs6 = errors;
if(typeof data1 !== "string"){
validate15.errors = [{instancePath:instancePath+"/text",schemaPath:"#/$defs/InputText/properties/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema18.properties.text.type,parentSchema:schema18.properties.text,data:data1}];
return false;
}
var valid3 = _errs6 === errors;
}
else {
var valid3 = true;
}
}
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputText/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema18.type,parentSchema:schema18,data}];
return false;
}
}
}
else if(tag0 === "output_text"){
const _errs9 = errors;
if(errors === _errs9){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing1;
if(((data.type === undefined) && (missing1 = "type")) || ((data.text === undefined) && (missing1 = "text"))){
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputText/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema18.required,parentSchema:schema18,data}];
return false;
}
else {
if(data.type !== undefined){
let data2 = data.type;
const _errs11 = errors;
if(!(((data2 === "input_text") || (data2 === "output_text")) || (data2 === "text"))){
validate15.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputText/properties/type/enum",keyword:"enum",params:{allowedValues: schema18.properties.type.enum},message:"must be equal to one of the allowed values",schema:schema18.properties.type.enum,parentSchema:schema18.properties.type,data:data2}];
return false;
}
var valid6 = _errs11 === errors;
}
else {
var valid6 = true;
}
if(valid6){
if(data.text !== undefined){
let data3 = data.text;
const _errs12 = errors;
if(typeof data3 !== "string"){
validate15.errors = [{instancePath:instancePath+"/text",schemaPath:"#/$defs/InputText/properties/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema18.properties.text.type,parentSchema:schema18.properties.text,data:data3}];
return false;
}
var valid6 = _errs12 === errors;
}
else {
var valid6 = true;
}
}
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputText/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema18.type,parentSchema:schema18,data}];
return false;
}
}
}
else if(tag0 === "text"){
const _errs15 = errors;
if(errors === _errs15){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing2;
if(((data.type === undefined) && (missing2 = "type")) || ((data.text === undefined) && (missing2 = "text"))){
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputText/required",keyword:"required",params:{missingProperty: missing2},message:"must have required property '"+missing2+"'",schema:schema18.required,parentSchema:schema18,data}];
return false;
}
else {
if(data.type !== undefined){
let data4 = data.type;
const _errs17 = errors;
if(!(((data4 === "input_text") || (data4 === "output_text")) || (data4 === "text"))){
validate15.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputText/properties/type/enum",keyword:"enum",params:{allowedValues: schema18.properties.type.enum},message:"must be equal to one of the allowed values",schema:schema18.properties.type.enum,parentSchema:schema18.properties.type,data:data4}];
return false;
}
var valid9 = _errs17 === errors;
}
else {
var valid9 = true;
}
if(valid9){
if(data.text !== undefined){
let data5 = data.text;
const _errs18 = errors;
if(typeof data5 !== "string"){
validate15.errors = [{instancePath:instancePath+"/text",schemaPath:"#/$defs/InputText/properties/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema18.properties.text.type,parentSchema:schema18.properties.text,data:data5}];
return false;
}
var valid9 = _errs18 === errors;
}
else {
var valid9 = true;
}
}
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputText/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema18.type,parentSchema:schema18,data}];
return false;
}
}
}
else if(tag0 === "refusal"){
const _errs21 = errors;
if(errors === _errs21){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing3;
if(((data.type === undefined) && (missing3 = "type")) || ((data.refusal === undefined) && (missing3 = "refusal"))){
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputRefusal/required",keyword:"required",params:{missingProperty: missing3},message:"must have required property '"+missing3+"'",schema:schema21.required,parentSchema:schema21,data}];
return false;
}
else {
if(data.type !== undefined){
let data6 = data.type;
const _errs23 = errors;
if("refusal" !== data6){
validate15.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputRefusal/properties/type/const",keyword:"const",params:{allowedValue: "refusal"},message:"must be equal to constant",schema:"refusal",parentSchema:schema21.properties.type,data:data6}];
return false;
}
var valid12 = _errs23 === errors;
}
else {
var valid12 = true;
}
if(valid12){
if(data.refusal !== undefined){
let data7 = data.refusal;
const _errs24 = errors;
if(typeof data7 !== "string"){
validate15.errors = [{instancePath:instancePath+"/refusal",schemaPath:"#/$defs/InputRefusal/properties/refusal/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema21.properties.refusal.type,parentSchema:schema21.properties.refusal,data:data7}];
return false;
}
var valid12 = _errs24 === errors;
}
else {
var valid12 = true;
}
}
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputRefusal/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema21.type,parentSchema:schema21,data}];
return false;
}
}
}
else if(tag0 === "input_image"){
const _errs27 = errors;
if(errors === _errs27){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing4;
if((data.type === undefined) && (missing4 = "type")){
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputImage/required",keyword:"required",params:{missingProperty: missing4},message:"must have required property '"+missing4+"'",schema:schema22.required,parentSchema:schema22,data}];
return false;
}
else {
if(data.type !== undefined){
let data8 = data.type;
const _errs29 = errors;
if("input_image" !== data8){
validate15.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputImage/properties/type/const",keyword:"const",params:{allowedValue: "input_image"},message:"must be equal to constant",schema:"input_image",parentSchema:schema22.properties.type,data:data8}];
return false;
}
var valid15 = _errs29 === errors;
}
else {
var valid15 = true;
}
if(valid15){
if(data.image_url !== undefined){
let data9 = data.image_url;
const _errs30 = errors;
if(typeof data9 !== "string"){
validate15.errors = [{instancePath:instancePath+"/image_url",schemaPath:"#/$defs/InputImage/properties/image_url/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema22.properties.image_url.type,parentSchema:schema22.properties.image_url,data:data9}];
return false;
}
var valid15 = _errs30 === errors;
}
else {
var valid15 = true;
}
if(valid15){
if(data.detail !== undefined){
let data10 = data.detail;
const _errs32 = errors;
if(!((((data10 === "low") || (data10 === "high")) || (data10 === "auto")) || (data10 === "original"))){
validate15.errors = [{instancePath:instancePath+"/detail",schemaPath:"#/$defs/InputImage/properties/detail/enum",keyword:"enum",params:{allowedValues: schema22.properties.detail.enum},message:"must be equal to one of the allowed values",schema:schema22.properties.detail.enum,parentSchema:schema22.properties.detail,data:data10}];
return false;
}
var valid15 = _errs32 === errors;
}
else {
var valid15 = true;
}
if(valid15){
if(data.file_id !== undefined){
let data11 = data.file_id;
const _errs33 = errors;
if(typeof data11 !== "string"){
validate15.errors = [{instancePath:instancePath+"/file_id",schemaPath:"#/$defs/InputImage/properties/file_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema22.properties.file_id.type,parentSchema:schema22.properties.file_id,data:data11}];
return false;
}
var valid15 = _errs33 === errors;
}
else {
var valid15 = true;
}
}
}
}
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputImage/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema22.type,parentSchema:schema22,data}];
return false;
}
}
}
else if(tag0 === "input_file"){
const _errs36 = errors;
if(errors === _errs36){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing5;
if((data.type === undefined) && (missing5 = "type")){
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputFile/required",keyword:"required",params:{missingProperty: missing5},message:"must have required property '"+missing5+"'",schema:schema23.required,parentSchema:schema23,data}];
return false;
}
else {
if(data.type !== undefined){
let data12 = data.type;
const _errs38 = errors;
if("input_file" !== data12){
validate15.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputFile/properties/type/const",keyword:"const",params:{allowedValue: "input_file"},message:"must be equal to constant",schema:"input_file",parentSchema:schema23.properties.type,data:data12}];
return false;
}
var valid18 = _errs38 === errors;
}
else {
var valid18 = true;
}
if(valid18){
if(data.filename !== undefined){
let data13 = data.filename;
const _errs39 = errors;
if(errors === _errs39){
if(typeof data13 === "string"){
if(func2(data13) > 1024){
validate15.errors = [{instancePath:instancePath+"/filename",schemaPath:"#/$defs/InputFile/properties/filename/maxLength",keyword:"maxLength",params:{limit: 1024},message:"must NOT have more than 1024 characters",schema:1024,parentSchema:schema23.properties.filename,data:data13}];
return false;
}
}
else {
validate15.errors = [{instancePath:instancePath+"/filename",schemaPath:"#/$defs/InputFile/properties/filename/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema23.properties.filename.type,parentSchema:schema23.properties.filename,data:data13}];
return false;
}
}
var valid18 = _errs39 === errors;
}
else {
var valid18 = true;
}
if(valid18){
if(data.file_data !== undefined){
let data14 = data.file_data;
const _errs41 = errors;
if(typeof data14 !== "string"){
validate15.errors = [{instancePath:instancePath+"/file_data",schemaPath:"#/$defs/InputFile/properties/file_data/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema23.properties.file_data.type,parentSchema:schema23.properties.file_data,data:data14}];
return false;
}
const _errs43 = errors;
const _errs44 = errors;
if("" !== data14){
const err0 = {};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
var valid19 = _errs44 === errors;
if(valid19){
validate15.errors = [{instancePath:instancePath+"/file_data",schemaPath:"#/$defs/InputFile/properties/file_data/not",keyword:"not",params:{},message:"must NOT be valid",schema:schema23.properties.file_data.not,parentSchema:schema23.properties.file_data,data:data14}];
return false;
}
else {
errors = _errs43;
if(vErrors !== null){
if(_errs43){
vErrors.length = _errs43;
}
else {
vErrors = null;
}
}
}
var valid18 = _errs41 === errors;
}
else {
var valid18 = true;
}
if(valid18){
if(data.file_url !== undefined){
let data15 = data.file_url;
const _errs45 = errors;
if(typeof data15 !== "string"){
validate15.errors = [{instancePath:instancePath+"/file_url",schemaPath:"#/$defs/InputFile/properties/file_url/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema23.properties.file_url.type,parentSchema:schema23.properties.file_url,data:data15}];
return false;
}
var valid18 = _errs45 === errors;
}
else {
var valid18 = true;
}
if(valid18){
if(data.file_id !== undefined){
let data16 = data.file_id;
const _errs47 = errors;
if(typeof data16 !== "string"){
validate15.errors = [{instancePath:instancePath+"/file_id",schemaPath:"#/$defs/InputFile/properties/file_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema23.properties.file_id.type,parentSchema:schema23.properties.file_id,data:data16}];
return false;
}
var valid18 = _errs47 === errors;
}
else {
var valid18 = true;
}
}
}
}
}
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputFile/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema23.type,parentSchema:schema23,data}];
return false;
}
}
}
else if(tag0 === "input_audio"){
const _errs50 = errors;
if(errors === _errs50){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing6;
if(((data.type === undefined) && (missing6 = "type")) || ((data.input_audio === undefined) && (missing6 = "input_audio"))){
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputAudio/required",keyword:"required",params:{missingProperty: missing6},message:"must have required property '"+missing6+"'",schema:schema24.required,parentSchema:schema24,data}];
return false;
}
else {
if(data.type !== undefined){
let data17 = data.type;
const _errs52 = errors;
if("input_audio" !== data17){
validate15.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputAudio/properties/type/const",keyword:"const",params:{allowedValue: "input_audio"},message:"must be equal to constant",schema:"input_audio",parentSchema:schema24.properties.type,data:data17}];
return false;
}
var valid22 = _errs52 === errors;
}
else {
var valid22 = true;
}
if(valid22){
if(data.input_audio !== undefined){
let data18 = data.input_audio;
const _errs53 = errors;
if(errors === _errs53){
if(data18 && typeof data18 == "object" && !Array.isArray(data18)){
let missing7;
if(((data18.data === undefined) && (missing7 = "data")) || ((data18.format === undefined) && (missing7 = "format"))){
validate15.errors = [{instancePath:instancePath+"/input_audio",schemaPath:"#/$defs/InputAudio/properties/input_audio/required",keyword:"required",params:{missingProperty: missing7},message:"must have required property '"+missing7+"'",schema:schema24.properties.input_audio.required,parentSchema:schema24.properties.input_audio,data:data18}];
return false;
}
else {
if(data18.data !== undefined){
let data19 = data18.data;
const _errs55 = errors;
if(typeof data19 !== "string"){
validate15.errors = [{instancePath:instancePath+"/input_audio/data",schemaPath:"#/$defs/InputAudio/properties/input_audio/properties/data/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema24.properties.input_audio.properties.data.type,parentSchema:schema24.properties.input_audio.properties.data,data:data19}];
return false;
}
const _errs57 = errors;
const _errs58 = errors;
if("" !== data19){
const err1 = {};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
var valid24 = _errs58 === errors;
if(valid24){
validate15.errors = [{instancePath:instancePath+"/input_audio/data",schemaPath:"#/$defs/InputAudio/properties/input_audio/properties/data/not",keyword:"not",params:{},message:"must NOT be valid",schema:schema24.properties.input_audio.properties.data.not,parentSchema:schema24.properties.input_audio.properties.data,data:data19}];
return false;
}
else {
errors = _errs57;
if(vErrors !== null){
if(_errs57){
vErrors.length = _errs57;
}
else {
vErrors = null;
}
}
}
var valid23 = _errs55 === errors;
}
else {
var valid23 = true;
}
if(valid23){
if(data18.format !== undefined){
let data20 = data18.format;
const _errs59 = errors;
if(errors === _errs59){
if(typeof data20 === "string"){
if(func2(data20) > 16){
validate15.errors = [{instancePath:instancePath+"/input_audio/format",schemaPath:"#/$defs/InputAudio/properties/input_audio/properties/format/maxLength",keyword:"maxLength",params:{limit: 16},message:"must NOT have more than 16 characters",schema:16,parentSchema:schema24.properties.input_audio.properties.format,data:data20}];
return false;
}
else {
if(func2(data20) < 1){
validate15.errors = [{instancePath:instancePath+"/input_audio/format",schemaPath:"#/$defs/InputAudio/properties/input_audio/properties/format/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema24.properties.input_audio.properties.format,data:data20}];
return false;
}
}
}
else {
validate15.errors = [{instancePath:instancePath+"/input_audio/format",schemaPath:"#/$defs/InputAudio/properties/input_audio/properties/format/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema24.properties.input_audio.properties.format.type,parentSchema:schema24.properties.input_audio.properties.format,data:data20}];
return false;
}
}
var valid23 = _errs59 === errors;
}
else {
var valid23 = true;
}
}
}
}
else {
validate15.errors = [{instancePath:instancePath+"/input_audio",schemaPath:"#/$defs/InputAudio/properties/input_audio/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema24.properties.input_audio.type,parentSchema:schema24.properties.input_audio,data:data18}];
return false;
}
}
var valid22 = _errs53 === errors;
}
else {
var valid22 = true;
}
}
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/$defs/InputAudio/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema24.type,parentSchema:schema24,data}];
return false;
}
}
}
else if(tag0 === "encrypted_content"){
const _errs62 = errors;
if(errors === _errs62){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing8;
if((data.type === undefined) && (missing8 = "type")){
validate15.errors = [{instancePath,schemaPath:"#/$defs/EncryptedPart/required",keyword:"required",params:{missingProperty: missing8},message:"must have required property '"+missing8+"'",schema:schema25.required,parentSchema:schema25,data}];
return false;
}
else {
if(data.type !== undefined){
let data21 = data.type;
const _errs64 = errors;
if("encrypted_content" !== data21){
validate15.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/EncryptedPart/properties/type/const",keyword:"const",params:{allowedValue: "encrypted_content"},message:"must be equal to constant",schema:"encrypted_content",parentSchema:schema25.properties.type,data:data21}];
return false;
}
var valid27 = _errs64 === errors;
}
else {
var valid27 = true;
}
if(valid27){
if(data.encrypted_content !== undefined){
let data22 = data.encrypted_content;
const _errs65 = errors;
if(typeof data22 !== "string"){
validate15.errors = [{instancePath:instancePath+"/encrypted_content",schemaPath:"#/$defs/EncryptedPart/properties/encrypted_content/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema25.properties.encrypted_content.type,parentSchema:schema25.properties.encrypted_content,data:data22}];
return false;
}
var valid27 = _errs65 === errors;
}
else {
var valid27 = true;
}
}
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/$defs/EncryptedPart/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema25.type,parentSchema:schema25,data}];
return false;
}
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "mapping", tag: "type", tagValue: tag0},message:"value of tag \"type\" must be in oneOf",schema:schema17.discriminator,parentSchema:schema17,data}];
return false;
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "tag", tag: "type", tagValue: tag0},message:"tag \"type\" must be string",schema:schema17.discriminator,parentSchema:schema17,data}];
return false;
}
}
else {
validate15.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema17.type,parentSchema:schema17,data}];
return false;
}
}
validate15.errors = vErrors;
return errors === 0;
}


function validate14(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((((data.type === undefined) && (missing0 = "type")) || ((data.role === undefined) && (missing0 = "role"))) || ((data.content === undefined) && (missing0 = "content"))){
validate14.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema16.required,parentSchema:schema16,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("message" !== data0){
validate14.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "message"},message:"must be equal to constant",schema:"message",parentSchema:schema16.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.role !== undefined){
let data1 = data.role;
const _errs2 = errors;
if(!((((data1 === "user") || (data1 === "assistant")) || (data1 === "system")) || (data1 === "developer"))){
validate14.errors = [{instancePath:instancePath+"/role",schemaPath:"#/properties/role/enum",keyword:"enum",params:{allowedValues: schema16.properties.role.enum},message:"must be equal to one of the allowed values",schema:schema16.properties.role.enum,parentSchema:schema16.properties.role,data:data1}];
return false;
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.content !== undefined){
let data2 = data.content;
const _errs3 = errors;
if((typeof data2 !== "string") && (!(Array.isArray(data2)))){
validate14.errors = [{instancePath:instancePath+"/content",schemaPath:"#/properties/content/type",keyword:"type",params:{type: schema16.properties.content.type},message:"must be string,array",schema:schema16.properties.content.type,parentSchema:schema16.properties.content,data:data2}];
return false;
}
if(errors === _errs3){
if(Array.isArray(data2)){
if(data2.length > 10000){
validate14.errors = [{instancePath:instancePath+"/content",schemaPath:"#/properties/content/maxItems",keyword:"maxItems",params:{limit: 10000},message:"must NOT have more than 10000 items",schema:10000,parentSchema:schema16.properties.content,data:data2}];
return false;
}
else {
var valid1 = true;
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
const _errs5 = errors;
if(!(validate15(data2[i0], {instancePath:instancePath+"/content/" + i0,parentData:data2,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate15.errors : vErrors.concat(validate15.errors);
errors = vErrors.length;
}
var valid1 = _errs5 === errors;
if(!valid1){
break;
}
}
}
}
}
var valid0 = _errs3 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data4 = data.id;
const _errs6 = errors;
if(typeof data4 !== "string"){
validate14.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema16.properties.id.type,parentSchema:schema16.properties.id,data:data4}];
return false;
}
var valid0 = _errs6 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.status !== undefined){
let data5 = data.status;
const _errs8 = errors;
if(typeof data5 !== "string"){
validate14.errors = [{instancePath:instancePath+"/status",schemaPath:"#/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema16.properties.status.type,parentSchema:schema16.properties.status,data:data5}];
return false;
}
var valid0 = _errs8 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.phase !== undefined){
let data6 = data.phase;
const _errs10 = errors;
if(typeof data6 !== "string"){
validate14.errors = [{instancePath:instancePath+"/phase",schemaPath:"#/properties/phase/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema16.properties.phase.type,parentSchema:schema16.properties.phase,data:data6}];
return false;
}
var valid0 = _errs10 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.tool_calls !== undefined){
let data7 = data.tool_calls;
const _errs12 = errors;
if(errors === _errs12){
if(Array.isArray(data7)){
if(data7.length > 0){
validate14.errors = [{instancePath:instancePath+"/tool_calls",schemaPath:"#/properties/tool_calls/maxItems",keyword:"maxItems",params:{limit: 0},message:"must NOT have more than 0 items",schema:0,parentSchema:schema16.properties.tool_calls,data:data7}];
return false;
}
}
else {
validate14.errors = [{instancePath:instancePath+"/tool_calls",schemaPath:"#/properties/tool_calls/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema16.properties.tool_calls.type,parentSchema:schema16.properties.tool_calls,data:data7}];
return false;
}
}
var valid0 = _errs12 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
}
}
else {
validate14.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema16.type,parentSchema:schema16,data}];
return false;
}
}
validate14.errors = vErrors;
return errors === 0;
}

const schema26 = {"type":"object","properties":{"type":{"const":"function_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":["string","array"],"items":{"$ref":"#/$defs/InputPart"},"maxItems":10000},"name":{"type":"string","minLength":1,"maxLength":256,"description":"The name of the tool, for an output without a call_id."},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","output"],"description":"Without a call_id it reaches the model as a user message."};

function validate17(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.type === undefined) && (missing0 = "type")) || ((data.output === undefined) && (missing0 = "output"))){
validate17.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema26.required,parentSchema:schema26,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("function_call_output" !== data0){
validate17.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "function_call_output"},message:"must be equal to constant",schema:"function_call_output",parentSchema:schema26.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.call_id !== undefined){
let data1 = data.call_id;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data1 === "string"){
if(func2(data1) > 65536){
validate17.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema26.properties.call_id,data:data1}];
return false;
}
else {
if(func2(data1) < 1){
validate17.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema26.properties.call_id,data:data1}];
return false;
}
}
}
else {
validate17.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema26.properties.call_id.type,parentSchema:schema26.properties.call_id,data:data1}];
return false;
}
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.output !== undefined){
let data2 = data.output;
const _errs4 = errors;
if((typeof data2 !== "string") && (!(Array.isArray(data2)))){
validate17.errors = [{instancePath:instancePath+"/output",schemaPath:"#/properties/output/type",keyword:"type",params:{type: schema26.properties.output.type},message:"must be string,array",schema:schema26.properties.output.type,parentSchema:schema26.properties.output,data:data2}];
return false;
}
if(errors === _errs4){
if(Array.isArray(data2)){
if(data2.length > 10000){
validate17.errors = [{instancePath:instancePath+"/output",schemaPath:"#/properties/output/maxItems",keyword:"maxItems",params:{limit: 10000},message:"must NOT have more than 10000 items",schema:10000,parentSchema:schema26.properties.output,data:data2}];
return false;
}
else {
var valid1 = true;
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
const _errs6 = errors;
if(!(validate15(data2[i0], {instancePath:instancePath+"/output/" + i0,parentData:data2,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate15.errors : vErrors.concat(validate15.errors);
errors = vErrors.length;
}
var valid1 = _errs6 === errors;
if(!valid1){
break;
}
}
}
}
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.name !== undefined){
let data4 = data.name;
const _errs7 = errors;
if(errors === _errs7){
if(typeof data4 === "string"){
if(func2(data4) > 256){
validate17.errors = [{instancePath:instancePath+"/name",schemaPath:"#/properties/name/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema26.properties.name,data:data4}];
return false;
}
else {
if(func2(data4) < 1){
validate17.errors = [{instancePath:instancePath+"/name",schemaPath:"#/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema26.properties.name,data:data4}];
return false;
}
}
}
else {
validate17.errors = [{instancePath:instancePath+"/name",schemaPath:"#/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema26.properties.name.type,parentSchema:schema26.properties.name,data:data4}];
return false;
}
}
var valid0 = _errs7 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data5 = data.id;
const _errs9 = errors;
if(typeof data5 !== "string"){
validate17.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema26.properties.id.type,parentSchema:schema26.properties.id,data:data5}];
return false;
}
var valid0 = _errs9 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.status !== undefined){
let data6 = data.status;
const _errs11 = errors;
if(typeof data6 !== "string"){
validate17.errors = [{instancePath:instancePath+"/status",schemaPath:"#/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema26.properties.status.type,parentSchema:schema26.properties.status,data:data6}];
return false;
}
var valid0 = _errs11 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
}
else {
validate17.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema26.type,parentSchema:schema26,data}];
return false;
}
}
validate17.errors = vErrors;
return errors === 0;
}

const schema27 = {"type":"object","properties":{"type":{"const":"custom_tool_call_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"output":{"type":["string","array"],"items":{"$ref":"#/$defs/InputPart"},"maxItems":10000},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","output"]};

function validate19(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((((data.type === undefined) && (missing0 = "type")) || ((data.call_id === undefined) && (missing0 = "call_id"))) || ((data.output === undefined) && (missing0 = "output"))){
validate19.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema27.required,parentSchema:schema27,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("custom_tool_call_output" !== data0){
validate19.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "custom_tool_call_output"},message:"must be equal to constant",schema:"custom_tool_call_output",parentSchema:schema27.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.call_id !== undefined){
let data1 = data.call_id;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data1 === "string"){
if(func2(data1) > 65536){
validate19.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema27.properties.call_id,data:data1}];
return false;
}
else {
if(func2(data1) < 1){
validate19.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema27.properties.call_id,data:data1}];
return false;
}
}
}
else {
validate19.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema27.properties.call_id.type,parentSchema:schema27.properties.call_id,data:data1}];
return false;
}
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.output !== undefined){
let data2 = data.output;
const _errs4 = errors;
if((typeof data2 !== "string") && (!(Array.isArray(data2)))){
validate19.errors = [{instancePath:instancePath+"/output",schemaPath:"#/properties/output/type",keyword:"type",params:{type: schema27.properties.output.type},message:"must be string,array",schema:schema27.properties.output.type,parentSchema:schema27.properties.output,data:data2}];
return false;
}
if(errors === _errs4){
if(Array.isArray(data2)){
if(data2.length > 10000){
validate19.errors = [{instancePath:instancePath+"/output",schemaPath:"#/properties/output/maxItems",keyword:"maxItems",params:{limit: 10000},message:"must NOT have more than 10000 items",schema:10000,parentSchema:schema27.properties.output,data:data2}];
return false;
}
else {
var valid1 = true;
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
const _errs6 = errors;
if(!(validate15(data2[i0], {instancePath:instancePath+"/output/" + i0,parentData:data2,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate15.errors : vErrors.concat(validate15.errors);
errors = vErrors.length;
}
var valid1 = _errs6 === errors;
if(!valid1){
break;
}
}
}
}
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data4 = data.id;
const _errs7 = errors;
if(typeof data4 !== "string"){
validate19.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema27.properties.id.type,parentSchema:schema27.properties.id,data:data4}];
return false;
}
var valid0 = _errs7 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.status !== undefined){
let data5 = data.status;
const _errs9 = errors;
if(typeof data5 !== "string"){
validate19.errors = [{instancePath:instancePath+"/status",schemaPath:"#/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema27.properties.status.type,parentSchema:schema27.properties.status,data:data5}];
return false;
}
var valid0 = _errs9 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
else {
validate19.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema27.type,parentSchema:schema27,data}];
return false;
}
}
validate19.errors = vErrors;
return errors === 0;
}

const schema28 = {"type":"object","properties":{"type":{"const":"tool_search_output"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"execution":{"enum":["client","server"]},"tools":{"type":"array","items":{"$ref":"#/$defs/ToolParam"},"maxItems":512},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","tools"],"description":"The tools that a search found; they are offered from now on. Without a call_id the rest of the item is left out."};
const schema29 = {"type":"object","required":["type"],"properties":{"type":{"type":"string","minLength":1,"maxLength":64}},"tsType":"FunctionTool | CustomTool | NamespaceTool | ToolSearchTool | LocalShellTool | ShellTool | ApplyPatchTool | HostedTool","allOf":[{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"function"}}},"then":{"$ref":"#/$defs/FunctionTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"custom"}}},"then":{"$ref":"#/$defs/CustomTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"namespace"}}},"then":{"$ref":"#/$defs/NamespaceTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"tool_search"}}},"then":{"$ref":"#/$defs/ToolSearchTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"local_shell"}}},"then":{"$ref":"#/$defs/LocalShellTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"shell"}}},"then":{"$ref":"#/$defs/ShellTool"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"apply_patch"}}},"then":{"$ref":"#/$defs/ApplyPatchTool"}}]};
const schema30 = {"type":"object","properties":{"type":{"const":"function"},"name":{"type":"string","minLength":1,"maxLength":256},"description":{"type":"string"},"parameters":{"type":"object","tsType":"Readonly<Record<string, unknown>>"},"strict":{"type":"boolean"}},"required":["type","name"]};
const schema34 = {"type":"object","properties":{"type":{"const":"tool_search"},"execution":{"enum":["client","server"]},"description":{"type":"string"},"parameters":{"type":"object","tsType":"Readonly<Record<string, unknown>>"}},"required":["type"]};
const schema35 = {"type":"object","properties":{"type":{"const":"local_shell"}},"required":["type"]};
const schema36 = {"type":"object","properties":{"type":{"const":"shell"},"environment":{"type":"object","properties":{"type":{"type":"string"}},"required":[]}},"required":["type"]};
const schema37 = {"type":"object","properties":{"type":{"const":"apply_patch"}},"required":["type"]};
const schema31 = {"type":"object","properties":{"type":{"const":"custom"},"name":{"type":"string","minLength":1,"maxLength":256},"description":{"type":"string"},"format":{"$ref":"#/$defs/CustomToolFormat"}},"required":["type","name"]};
const schema32 = {"type":"object","properties":{"type":{"enum":["text","grammar"]},"syntax":{"type":"string","maxLength":64},"definition":{"type":"string"}},"required":["type"]};

function validate23(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.type === undefined) && (missing0 = "type")) || ((data.name === undefined) && (missing0 = "name"))){
validate23.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema31.required,parentSchema:schema31,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("custom" !== data0){
validate23.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "custom"},message:"must be equal to constant",schema:"custom",parentSchema:schema31.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.name !== undefined){
let data1 = data.name;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data1 === "string"){
if(func2(data1) > 256){
validate23.errors = [{instancePath:instancePath+"/name",schemaPath:"#/properties/name/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema31.properties.name,data:data1}];
return false;
}
else {
if(func2(data1) < 1){
validate23.errors = [{instancePath:instancePath+"/name",schemaPath:"#/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema31.properties.name,data:data1}];
return false;
}
}
}
else {
validate23.errors = [{instancePath:instancePath+"/name",schemaPath:"#/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.name.type,parentSchema:schema31.properties.name,data:data1}];
return false;
}
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.description !== undefined){
let data2 = data.description;
const _errs4 = errors;
if(typeof data2 !== "string"){
validate23.errors = [{instancePath:instancePath+"/description",schemaPath:"#/properties/description/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.description.type,parentSchema:schema31.properties.description,data:data2}];
return false;
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.format !== undefined){
let data3 = data.format;
const _errs6 = errors;
const _errs7 = errors;
if(errors === _errs7){
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
let missing1;
if((data3.type === undefined) && (missing1 = "type")){
validate23.errors = [{instancePath:instancePath+"/format",schemaPath:"#/$defs/CustomToolFormat/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema32.required,parentSchema:schema32,data:data3}];
return false;
}
else {
if(data3.type !== undefined){
let data4 = data3.type;
const _errs9 = errors;
if(!((data4 === "text") || (data4 === "grammar"))){
validate23.errors = [{instancePath:instancePath+"/format/type",schemaPath:"#/$defs/CustomToolFormat/properties/type/enum",keyword:"enum",params:{allowedValues: schema32.properties.type.enum},message:"must be equal to one of the allowed values",schema:schema32.properties.type.enum,parentSchema:schema32.properties.type,data:data4}];
return false;
}
var valid2 = _errs9 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data3.syntax !== undefined){
let data5 = data3.syntax;
const _errs10 = errors;
if(errors === _errs10){
if(typeof data5 === "string"){
if(func2(data5) > 64){
validate23.errors = [{instancePath:instancePath+"/format/syntax",schemaPath:"#/$defs/CustomToolFormat/properties/syntax/maxLength",keyword:"maxLength",params:{limit: 64},message:"must NOT have more than 64 characters",schema:64,parentSchema:schema32.properties.syntax,data:data5}];
return false;
}
}
else {
validate23.errors = [{instancePath:instancePath+"/format/syntax",schemaPath:"#/$defs/CustomToolFormat/properties/syntax/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema32.properties.syntax.type,parentSchema:schema32.properties.syntax,data:data5}];
return false;
}
}
var valid2 = _errs10 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data3.definition !== undefined){
let data6 = data3.definition;
const _errs12 = errors;
if(typeof data6 !== "string"){
validate23.errors = [{instancePath:instancePath+"/format/definition",schemaPath:"#/$defs/CustomToolFormat/properties/definition/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema32.properties.definition.type,parentSchema:schema32.properties.definition,data:data6}];
return false;
}
var valid2 = _errs12 === errors;
}
else {
var valid2 = true;
}
}
}
}
}
else {
validate23.errors = [{instancePath:instancePath+"/format",schemaPath:"#/$defs/CustomToolFormat/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema32.type,parentSchema:schema32,data:data3}];
return false;
}
}
var valid0 = _errs6 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
else {
validate23.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.type,parentSchema:schema31,data}];
return false;
}
}
validate23.errors = vErrors;
return errors === 0;
}

const schema33 = {"type":"object","properties":{"type":{"const":"namespace"},"name":{"type":"string","minLength":1,"maxLength":256},"description":{"type":"string"},"tools":{"type":"array","items":{"$ref":"#/$defs/ToolParam"},"maxItems":512}},"required":["type","name","tools"]};
const wrapper0 = {validate: validate22};

function validate25(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((((data.type === undefined) && (missing0 = "type")) || ((data.name === undefined) && (missing0 = "name"))) || ((data.tools === undefined) && (missing0 = "tools"))){
validate25.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema33.required,parentSchema:schema33,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("namespace" !== data0){
validate25.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "namespace"},message:"must be equal to constant",schema:"namespace",parentSchema:schema33.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.name !== undefined){
let data1 = data.name;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data1 === "string"){
if(func2(data1) > 256){
validate25.errors = [{instancePath:instancePath+"/name",schemaPath:"#/properties/name/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema33.properties.name,data:data1}];
return false;
}
else {
if(func2(data1) < 1){
validate25.errors = [{instancePath:instancePath+"/name",schemaPath:"#/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema33.properties.name,data:data1}];
return false;
}
}
}
else {
validate25.errors = [{instancePath:instancePath+"/name",schemaPath:"#/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema33.properties.name.type,parentSchema:schema33.properties.name,data:data1}];
return false;
}
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.description !== undefined){
let data2 = data.description;
const _errs4 = errors;
if(typeof data2 !== "string"){
validate25.errors = [{instancePath:instancePath+"/description",schemaPath:"#/properties/description/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema33.properties.description.type,parentSchema:schema33.properties.description,data:data2}];
return false;
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.tools !== undefined){
let data3 = data.tools;
const _errs6 = errors;
if(errors === _errs6){
if(Array.isArray(data3)){
if(data3.length > 512){
validate25.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/maxItems",keyword:"maxItems",params:{limit: 512},message:"must NOT have more than 512 items",schema:512,parentSchema:schema33.properties.tools,data:data3}];
return false;
}
else {
var valid1 = true;
const len0 = data3.length;
for(let i0=0; i0<len0; i0++){
const _errs8 = errors;
if(!(wrapper0.validate(data3[i0], {instancePath:instancePath+"/tools/" + i0,parentData:data3,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? wrapper0.validate.errors : vErrors.concat(wrapper0.validate.errors);
errors = vErrors.length;
}
var valid1 = _errs8 === errors;
if(!valid1){
break;
}
}
}
}
else {
validate25.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema33.properties.tools.type,parentSchema:schema33.properties.tools,data:data3}];
return false;
}
}
var valid0 = _errs6 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
else {
validate25.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema33.type,parentSchema:schema33,data}];
return false;
}
}
validate25.errors = vErrors;
return errors === 0;
}


function validate22(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
const _errs1 = errors;
const _errs2 = errors;
let valid1 = true;
const _errs3 = errors;
if(errors === _errs3){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((data.type === undefined) && (missing0 = "type")){
const err0 = {};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
else {
if(data.type !== undefined){
if("function" !== data.type){
const err1 = {};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
}
}
else {
const err2 = {};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
var _valid0 = _errs3 === errors;
errors = _errs2;
if(vErrors !== null){
if(_errs2){
vErrors.length = _errs2;
}
else {
vErrors = null;
}
}
if(_valid0){
const _errs6 = errors;
const _errs7 = errors;
if(errors === _errs7){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing1;
if(((data.type === undefined) && (missing1 = "type")) || ((data.name === undefined) && (missing1 = "name"))){
validate22.errors = [{instancePath,schemaPath:"#/$defs/FunctionTool/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema30.required,parentSchema:schema30,data}];
return false;
}
else {
if(data.type !== undefined){
let data1 = data.type;
const _errs9 = errors;
if("function" !== data1){
validate22.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/FunctionTool/properties/type/const",keyword:"const",params:{allowedValue: "function"},message:"must be equal to constant",schema:"function",parentSchema:schema30.properties.type,data:data1}];
return false;
}
var valid4 = _errs9 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.name !== undefined){
let data2 = data.name;
const _errs10 = errors;
if(errors === _errs10){
if(typeof data2 === "string"){
if(func2(data2) > 256){
validate22.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/FunctionTool/properties/name/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema30.properties.name,data:data2}];
return false;
}
else {
if(func2(data2) < 1){
validate22.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/FunctionTool/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema30.properties.name,data:data2}];
return false;
}
}
}
else {
validate22.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/FunctionTool/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema30.properties.name.type,parentSchema:schema30.properties.name,data:data2}];
return false;
}
}
var valid4 = _errs10 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.description !== undefined){
let data3 = data.description;
const _errs12 = errors;
if(typeof data3 !== "string"){
validate22.errors = [{instancePath:instancePath+"/description",schemaPath:"#/$defs/FunctionTool/properties/description/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema30.properties.description.type,parentSchema:schema30.properties.description,data:data3}];
return false;
}
var valid4 = _errs12 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.parameters !== undefined){
let data4 = data.parameters;
const _errs14 = errors;
if(!(data4 && typeof data4 == "object" && !Array.isArray(data4))){
validate22.errors = [{instancePath:instancePath+"/parameters",schemaPath:"#/$defs/FunctionTool/properties/parameters/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema30.properties.parameters.type,parentSchema:schema30.properties.parameters,data:data4}];
return false;
}
var valid4 = _errs14 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.strict !== undefined){
let data5 = data.strict;
const _errs16 = errors;
if(typeof data5 !== "boolean"){
validate22.errors = [{instancePath:instancePath+"/strict",schemaPath:"#/$defs/FunctionTool/properties/strict/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema30.properties.strict.type,parentSchema:schema30.properties.strict,data:data5}];
return false;
}
var valid4 = _errs16 === errors;
}
else {
var valid4 = true;
}
}
}
}
}
}
}
else {
validate22.errors = [{instancePath,schemaPath:"#/$defs/FunctionTool/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema30.type,parentSchema:schema30,data}];
return false;
}
}
var _valid0 = _errs6 === errors;
valid1 = _valid0;
}
if(!valid1){
const err3 = {instancePath,schemaPath:"#/allOf/0/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema29.allOf[0].if,parentSchema:schema29.allOf[0],data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
validate22.errors = vErrors;
return false;
}
var valid0 = _errs1 === errors;
if(valid0){
const _errs18 = errors;
const _errs19 = errors;
let valid5 = true;
const _errs20 = errors;
if(errors === _errs20){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing2;
if((data.type === undefined) && (missing2 = "type")){
const err4 = {};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
else {
if(data.type !== undefined){
if("custom" !== data.type){
const err5 = {};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
}
else {
const err6 = {};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
var _valid1 = _errs20 === errors;
errors = _errs19;
if(vErrors !== null){
if(_errs19){
vErrors.length = _errs19;
}
else {
vErrors = null;
}
}
if(_valid1){
const _errs23 = errors;
if(!(validate23(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate23.errors : vErrors.concat(validate23.errors);
errors = vErrors.length;
}
var _valid1 = _errs23 === errors;
valid5 = _valid1;
}
if(!valid5){
const err7 = {instancePath,schemaPath:"#/allOf/1/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema29.allOf[1].if,parentSchema:schema29.allOf[1],data};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
validate22.errors = vErrors;
return false;
}
var valid0 = _errs18 === errors;
if(valid0){
const _errs24 = errors;
const _errs25 = errors;
let valid7 = true;
const _errs26 = errors;
if(errors === _errs26){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing3;
if((data.type === undefined) && (missing3 = "type")){
const err8 = {};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
else {
if(data.type !== undefined){
if("namespace" !== data.type){
const err9 = {};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
}
else {
const err10 = {};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
var _valid2 = _errs26 === errors;
errors = _errs25;
if(vErrors !== null){
if(_errs25){
vErrors.length = _errs25;
}
else {
vErrors = null;
}
}
if(_valid2){
const _errs29 = errors;
if(!(validate25(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate25.errors : vErrors.concat(validate25.errors);
errors = vErrors.length;
}
var _valid2 = _errs29 === errors;
valid7 = _valid2;
}
if(!valid7){
const err11 = {instancePath,schemaPath:"#/allOf/2/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema29.allOf[2].if,parentSchema:schema29.allOf[2],data};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
validate22.errors = vErrors;
return false;
}
var valid0 = _errs24 === errors;
if(valid0){
const _errs30 = errors;
const _errs31 = errors;
let valid9 = true;
const _errs32 = errors;
if(errors === _errs32){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing4;
if((data.type === undefined) && (missing4 = "type")){
const err12 = {};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
else {
if(data.type !== undefined){
if("tool_search" !== data.type){
const err13 = {};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
}
else {
const err14 = {};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
var _valid3 = _errs32 === errors;
errors = _errs31;
if(vErrors !== null){
if(_errs31){
vErrors.length = _errs31;
}
else {
vErrors = null;
}
}
if(_valid3){
const _errs35 = errors;
const _errs36 = errors;
if(errors === _errs36){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing5;
if((data.type === undefined) && (missing5 = "type")){
validate22.errors = [{instancePath,schemaPath:"#/$defs/ToolSearchTool/required",keyword:"required",params:{missingProperty: missing5},message:"must have required property '"+missing5+"'",schema:schema34.required,parentSchema:schema34,data}];
return false;
}
else {
if(data.type !== undefined){
let data9 = data.type;
const _errs38 = errors;
if("tool_search" !== data9){
validate22.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/ToolSearchTool/properties/type/const",keyword:"const",params:{allowedValue: "tool_search"},message:"must be equal to constant",schema:"tool_search",parentSchema:schema34.properties.type,data:data9}];
return false;
}
var valid12 = _errs38 === errors;
}
else {
var valid12 = true;
}
if(valid12){
if(data.execution !== undefined){
let data10 = data.execution;
const _errs39 = errors;
if(!((data10 === "client") || (data10 === "server"))){
validate22.errors = [{instancePath:instancePath+"/execution",schemaPath:"#/$defs/ToolSearchTool/properties/execution/enum",keyword:"enum",params:{allowedValues: schema34.properties.execution.enum},message:"must be equal to one of the allowed values",schema:schema34.properties.execution.enum,parentSchema:schema34.properties.execution,data:data10}];
return false;
}
var valid12 = _errs39 === errors;
}
else {
var valid12 = true;
}
if(valid12){
if(data.description !== undefined){
let data11 = data.description;
const _errs40 = errors;
if(typeof data11 !== "string"){
validate22.errors = [{instancePath:instancePath+"/description",schemaPath:"#/$defs/ToolSearchTool/properties/description/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.properties.description.type,parentSchema:schema34.properties.description,data:data11}];
return false;
}
var valid12 = _errs40 === errors;
}
else {
var valid12 = true;
}
if(valid12){
if(data.parameters !== undefined){
let data12 = data.parameters;
const _errs42 = errors;
if(!(data12 && typeof data12 == "object" && !Array.isArray(data12))){
validate22.errors = [{instancePath:instancePath+"/parameters",schemaPath:"#/$defs/ToolSearchTool/properties/parameters/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema34.properties.parameters.type,parentSchema:schema34.properties.parameters,data:data12}];
return false;
}
var valid12 = _errs42 === errors;
}
else {
var valid12 = true;
}
}
}
}
}
}
else {
validate22.errors = [{instancePath,schemaPath:"#/$defs/ToolSearchTool/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema34.type,parentSchema:schema34,data}];
return false;
}
}
var _valid3 = _errs35 === errors;
valid9 = _valid3;
}
if(!valid9){
const err15 = {instancePath,schemaPath:"#/allOf/3/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema29.allOf[3].if,parentSchema:schema29.allOf[3],data};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
validate22.errors = vErrors;
return false;
}
var valid0 = _errs30 === errors;
if(valid0){
const _errs44 = errors;
const _errs45 = errors;
let valid13 = true;
const _errs46 = errors;
if(errors === _errs46){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing6;
if((data.type === undefined) && (missing6 = "type")){
const err16 = {};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
else {
if(data.type !== undefined){
if("local_shell" !== data.type){
const err17 = {};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
}
}
else {
const err18 = {};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
var _valid4 = _errs46 === errors;
errors = _errs45;
if(vErrors !== null){
if(_errs45){
vErrors.length = _errs45;
}
else {
vErrors = null;
}
}
if(_valid4){
const _errs49 = errors;
const _errs50 = errors;
if(errors === _errs50){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing7;
if((data.type === undefined) && (missing7 = "type")){
validate22.errors = [{instancePath,schemaPath:"#/$defs/LocalShellTool/required",keyword:"required",params:{missingProperty: missing7},message:"must have required property '"+missing7+"'",schema:schema35.required,parentSchema:schema35,data}];
return false;
}
else {
if(data.type !== undefined){
let data14 = data.type;
if("local_shell" !== data14){
validate22.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/LocalShellTool/properties/type/const",keyword:"const",params:{allowedValue: "local_shell"},message:"must be equal to constant",schema:"local_shell",parentSchema:schema35.properties.type,data:data14}];
return false;
}
}
}
}
else {
validate22.errors = [{instancePath,schemaPath:"#/$defs/LocalShellTool/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema35.type,parentSchema:schema35,data}];
return false;
}
}
var _valid4 = _errs49 === errors;
valid13 = _valid4;
}
if(!valid13){
const err19 = {instancePath,schemaPath:"#/allOf/4/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema29.allOf[4].if,parentSchema:schema29.allOf[4],data};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
validate22.errors = vErrors;
return false;
}
var valid0 = _errs44 === errors;
if(valid0){
const _errs53 = errors;
const _errs54 = errors;
let valid17 = true;
const _errs55 = errors;
if(errors === _errs55){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing8;
if((data.type === undefined) && (missing8 = "type")){
const err20 = {};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
else {
if(data.type !== undefined){
if("shell" !== data.type){
const err21 = {};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
}
}
else {
const err22 = {};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
var _valid5 = _errs55 === errors;
errors = _errs54;
if(vErrors !== null){
if(_errs54){
vErrors.length = _errs54;
}
else {
vErrors = null;
}
}
if(_valid5){
const _errs58 = errors;
const _errs59 = errors;
if(errors === _errs59){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing9;
if((data.type === undefined) && (missing9 = "type")){
validate22.errors = [{instancePath,schemaPath:"#/$defs/ShellTool/required",keyword:"required",params:{missingProperty: missing9},message:"must have required property '"+missing9+"'",schema:schema36.required,parentSchema:schema36,data}];
return false;
}
else {
if(data.type !== undefined){
let data16 = data.type;
const _errs61 = errors;
if("shell" !== data16){
validate22.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/ShellTool/properties/type/const",keyword:"const",params:{allowedValue: "shell"},message:"must be equal to constant",schema:"shell",parentSchema:schema36.properties.type,data:data16}];
return false;
}
var valid20 = _errs61 === errors;
}
else {
var valid20 = true;
}
if(valid20){
if(data.environment !== undefined){
let data17 = data.environment;
const _errs62 = errors;
if(errors === _errs62){
if(data17 && typeof data17 == "object" && !Array.isArray(data17)){
if(data17.type !== undefined){
let data18 = data17.type;
if(typeof data18 !== "string"){
validate22.errors = [{instancePath:instancePath+"/environment/type",schemaPath:"#/$defs/ShellTool/properties/environment/properties/type/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema36.properties.environment.properties.type.type,parentSchema:schema36.properties.environment.properties.type,data:data18}];
return false;
}
}
}
else {
validate22.errors = [{instancePath:instancePath+"/environment",schemaPath:"#/$defs/ShellTool/properties/environment/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema36.properties.environment.type,parentSchema:schema36.properties.environment,data:data17}];
return false;
}
}
var valid20 = _errs62 === errors;
}
else {
var valid20 = true;
}
}
}
}
else {
validate22.errors = [{instancePath,schemaPath:"#/$defs/ShellTool/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema36.type,parentSchema:schema36,data}];
return false;
}
}
var _valid5 = _errs58 === errors;
valid17 = _valid5;
}
if(!valid17){
const err23 = {instancePath,schemaPath:"#/allOf/5/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema29.allOf[5].if,parentSchema:schema29.allOf[5],data};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
validate22.errors = vErrors;
return false;
}
var valid0 = _errs53 === errors;
if(valid0){
const _errs66 = errors;
const _errs67 = errors;
let valid22 = true;
const _errs68 = errors;
if(errors === _errs68){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing10;
if((data.type === undefined) && (missing10 = "type")){
const err24 = {};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
else {
if(data.type !== undefined){
if("apply_patch" !== data.type){
const err25 = {};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
}
}
else {
const err26 = {};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
var _valid6 = _errs68 === errors;
errors = _errs67;
if(vErrors !== null){
if(_errs67){
vErrors.length = _errs67;
}
else {
vErrors = null;
}
}
if(_valid6){
const _errs71 = errors;
const _errs72 = errors;
if(errors === _errs72){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing11;
if((data.type === undefined) && (missing11 = "type")){
validate22.errors = [{instancePath,schemaPath:"#/$defs/ApplyPatchTool/required",keyword:"required",params:{missingProperty: missing11},message:"must have required property '"+missing11+"'",schema:schema37.required,parentSchema:schema37,data}];
return false;
}
else {
if(data.type !== undefined){
let data20 = data.type;
if("apply_patch" !== data20){
validate22.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/ApplyPatchTool/properties/type/const",keyword:"const",params:{allowedValue: "apply_patch"},message:"must be equal to constant",schema:"apply_patch",parentSchema:schema37.properties.type,data:data20}];
return false;
}
}
}
}
else {
validate22.errors = [{instancePath,schemaPath:"#/$defs/ApplyPatchTool/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema37.type,parentSchema:schema37,data}];
return false;
}
}
var _valid6 = _errs71 === errors;
valid22 = _valid6;
}
if(!valid22){
const err27 = {instancePath,schemaPath:"#/allOf/6/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema29.allOf[6].if,parentSchema:schema29.allOf[6],data};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
validate22.errors = vErrors;
return false;
}
var valid0 = _errs66 === errors;
}
}
}
}
}
}
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing12;
if((data.type === undefined) && (missing12 = "type")){
validate22.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing12},message:"must have required property '"+missing12+"'",schema:schema29.required,parentSchema:schema29,data}];
return false;
}
else {
if(data.type !== undefined){
let data21 = data.type;
const _errs75 = errors;
if(errors === _errs75){
if(typeof data21 === "string"){
if(func2(data21) > 64){
validate22.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/maxLength",keyword:"maxLength",params:{limit: 64},message:"must NOT have more than 64 characters",schema:64,parentSchema:schema29.properties.type,data:data21}];
return false;
}
else {
if(func2(data21) < 1){
validate22.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema29.properties.type,data:data21}];
return false;
}
}
}
else {
validate22.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema29.properties.type.type,parentSchema:schema29.properties.type,data:data21}];
return false;
}
}
}
}
}
else {
validate22.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema29.type,parentSchema:schema29,data}];
return false;
}
}
validate22.errors = vErrors;
return errors === 0;
}


function validate21(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.type === undefined) && (missing0 = "type")) || ((data.tools === undefined) && (missing0 = "tools"))){
validate21.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema28.required,parentSchema:schema28,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("tool_search_output" !== data0){
validate21.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "tool_search_output"},message:"must be equal to constant",schema:"tool_search_output",parentSchema:schema28.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.call_id !== undefined){
let data1 = data.call_id;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data1 === "string"){
if(func2(data1) > 65536){
validate21.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema28.properties.call_id,data:data1}];
return false;
}
else {
if(func2(data1) < 1){
validate21.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema28.properties.call_id,data:data1}];
return false;
}
}
}
else {
validate21.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema28.properties.call_id.type,parentSchema:schema28.properties.call_id,data:data1}];
return false;
}
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.execution !== undefined){
let data2 = data.execution;
const _errs4 = errors;
if(!((data2 === "client") || (data2 === "server"))){
validate21.errors = [{instancePath:instancePath+"/execution",schemaPath:"#/properties/execution/enum",keyword:"enum",params:{allowedValues: schema28.properties.execution.enum},message:"must be equal to one of the allowed values",schema:schema28.properties.execution.enum,parentSchema:schema28.properties.execution,data:data2}];
return false;
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.tools !== undefined){
let data3 = data.tools;
const _errs5 = errors;
if(errors === _errs5){
if(Array.isArray(data3)){
if(data3.length > 512){
validate21.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/maxItems",keyword:"maxItems",params:{limit: 512},message:"must NOT have more than 512 items",schema:512,parentSchema:schema28.properties.tools,data:data3}];
return false;
}
else {
var valid1 = true;
const len0 = data3.length;
for(let i0=0; i0<len0; i0++){
const _errs7 = errors;
if(!(validate22(data3[i0], {instancePath:instancePath+"/tools/" + i0,parentData:data3,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate22.errors : vErrors.concat(validate22.errors);
errors = vErrors.length;
}
var valid1 = _errs7 === errors;
if(!valid1){
break;
}
}
}
}
else {
validate21.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema28.properties.tools.type,parentSchema:schema28.properties.tools,data:data3}];
return false;
}
}
var valid0 = _errs5 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data5 = data.id;
const _errs8 = errors;
if(typeof data5 !== "string"){
validate21.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema28.properties.id.type,parentSchema:schema28.properties.id,data:data5}];
return false;
}
var valid0 = _errs8 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.status !== undefined){
let data6 = data.status;
const _errs10 = errors;
if(typeof data6 !== "string"){
validate21.errors = [{instancePath:instancePath+"/status",schemaPath:"#/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema28.properties.status.type,parentSchema:schema28.properties.status,data:data6}];
return false;
}
var valid0 = _errs10 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
}
else {
validate21.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema28.type,parentSchema:schema28,data}];
return false;
}
}
validate21.errors = vErrors;
return errors === 0;
}

const schema38 = {"type":"object","properties":{"type":{"const":"local_shell_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"action":{"$ref":"#/$defs/InputLocalShellAction"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","action"]};
const schema39 = {"type":"object","properties":{"type":{"const":"exec"},"command":{"type":"array","items":{"type":"string"}},"env":{"type":"object","additionalProperties":{"type":"string"},"tsType":"Readonly<Record<string, string>>"},"working_directory":{"type":"string"},"timeout_ms":{"type":"number"},"user":{"type":"string"}},"required":["command"]};

function validate28(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.type === undefined) && (missing0 = "type")) || ((data.action === undefined) && (missing0 = "action"))){
validate28.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema38.required,parentSchema:schema38,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("local_shell_call" !== data0){
validate28.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "local_shell_call"},message:"must be equal to constant",schema:"local_shell_call",parentSchema:schema38.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.call_id !== undefined){
let data1 = data.call_id;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data1 === "string"){
if(func2(data1) > 65536){
validate28.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema38.properties.call_id,data:data1}];
return false;
}
else {
if(func2(data1) < 1){
validate28.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema38.properties.call_id,data:data1}];
return false;
}
}
}
else {
validate28.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema38.properties.call_id.type,parentSchema:schema38.properties.call_id,data:data1}];
return false;
}
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.action !== undefined){
let data2 = data.action;
const _errs4 = errors;
const _errs5 = errors;
if(errors === _errs5){
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
let missing1;
if((data2.command === undefined) && (missing1 = "command")){
validate28.errors = [{instancePath:instancePath+"/action",schemaPath:"#/$defs/InputLocalShellAction/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema39.required,parentSchema:schema39,data:data2}];
return false;
}
else {
if(data2.type !== undefined){
let data3 = data2.type;
const _errs7 = errors;
if("exec" !== data3){
validate28.errors = [{instancePath:instancePath+"/action/type",schemaPath:"#/$defs/InputLocalShellAction/properties/type/const",keyword:"const",params:{allowedValue: "exec"},message:"must be equal to constant",schema:"exec",parentSchema:schema39.properties.type,data:data3}];
return false;
}
var valid2 = _errs7 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data2.command !== undefined){
let data4 = data2.command;
const _errs8 = errors;
if(errors === _errs8){
if(Array.isArray(data4)){
var valid3 = true;
const len0 = data4.length;
for(let i0=0; i0<len0; i0++){
let data5 = data4[i0];
const _errs10 = errors;
if(typeof data5 !== "string"){
validate28.errors = [{instancePath:instancePath+"/action/command/" + i0,schemaPath:"#/$defs/InputLocalShellAction/properties/command/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema39.properties.command.items.type,parentSchema:schema39.properties.command.items,data:data5}];
return false;
}
var valid3 = _errs10 === errors;
if(!valid3){
break;
}
}
}
else {
validate28.errors = [{instancePath:instancePath+"/action/command",schemaPath:"#/$defs/InputLocalShellAction/properties/command/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema39.properties.command.type,parentSchema:schema39.properties.command,data:data4}];
return false;
}
}
var valid2 = _errs8 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data2.env !== undefined){
let data6 = data2.env;
const _errs12 = errors;
if(errors === _errs12){
if(data6 && typeof data6 == "object" && !Array.isArray(data6)){
for(const key0 in data6){
let data7 = data6[key0];
const _errs15 = errors;
if(typeof data7 !== "string"){
validate28.errors = [{instancePath:instancePath+"/action/env/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/InputLocalShellAction/properties/env/additionalProperties/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema39.properties.env.additionalProperties.type,parentSchema:schema39.properties.env.additionalProperties,data:data7}];
return false;
}
var valid4 = _errs15 === errors;
if(!valid4){
break;
}
}
}
else {
validate28.errors = [{instancePath:instancePath+"/action/env",schemaPath:"#/$defs/InputLocalShellAction/properties/env/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema39.properties.env.type,parentSchema:schema39.properties.env,data:data6}];
return false;
}
}
var valid2 = _errs12 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data2.working_directory !== undefined){
let data8 = data2.working_directory;
const _errs17 = errors;
if(typeof data8 !== "string"){
validate28.errors = [{instancePath:instancePath+"/action/working_directory",schemaPath:"#/$defs/InputLocalShellAction/properties/working_directory/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema39.properties.working_directory.type,parentSchema:schema39.properties.working_directory,data:data8}];
return false;
}
var valid2 = _errs17 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data2.timeout_ms !== undefined){
let data9 = data2.timeout_ms;
const _errs19 = errors;
if(!((typeof data9 == "number") && (isFinite(data9)))){
validate28.errors = [{instancePath:instancePath+"/action/timeout_ms",schemaPath:"#/$defs/InputLocalShellAction/properties/timeout_ms/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema39.properties.timeout_ms.type,parentSchema:schema39.properties.timeout_ms,data:data9}];
return false;
}
var valid2 = _errs19 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data2.user !== undefined){
let data10 = data2.user;
const _errs21 = errors;
if(typeof data10 !== "string"){
validate28.errors = [{instancePath:instancePath+"/action/user",schemaPath:"#/$defs/InputLocalShellAction/properties/user/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema39.properties.user.type,parentSchema:schema39.properties.user,data:data10}];
return false;
}
var valid2 = _errs21 === errors;
}
else {
var valid2 = true;
}
}
}
}
}
}
}
}
else {
validate28.errors = [{instancePath:instancePath+"/action",schemaPath:"#/$defs/InputLocalShellAction/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema39.type,parentSchema:schema39,data:data2}];
return false;
}
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data11 = data.id;
const _errs23 = errors;
if(typeof data11 !== "string"){
validate28.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema38.properties.id.type,parentSchema:schema38.properties.id,data:data11}];
return false;
}
var valid0 = _errs23 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.status !== undefined){
let data12 = data.status;
const _errs25 = errors;
if(typeof data12 !== "string"){
validate28.errors = [{instancePath:instancePath+"/status",schemaPath:"#/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema38.properties.status.type,parentSchema:schema38.properties.status,data:data12}];
return false;
}
var valid0 = _errs25 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
else {
validate28.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema38.type,parentSchema:schema38,data}];
return false;
}
}
validate28.errors = vErrors;
return errors === 0;
}

const schema40 = {"type":"object","properties":{"type":{"const":"shell_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"action":{"$ref":"#/$defs/InputShellAction"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","action"]};
const schema41 = {"type":"object","properties":{"commands":{"type":"array","items":{"type":"string"}},"timeout_ms":{"type":"number"},"max_output_length":{"type":"number"}},"required":["commands"]};

function validate29(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((((data.type === undefined) && (missing0 = "type")) || ((data.call_id === undefined) && (missing0 = "call_id"))) || ((data.action === undefined) && (missing0 = "action"))){
validate29.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema40.required,parentSchema:schema40,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("shell_call" !== data0){
validate29.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "shell_call"},message:"must be equal to constant",schema:"shell_call",parentSchema:schema40.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.call_id !== undefined){
let data1 = data.call_id;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data1 === "string"){
if(func2(data1) > 65536){
validate29.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema40.properties.call_id,data:data1}];
return false;
}
else {
if(func2(data1) < 1){
validate29.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema40.properties.call_id,data:data1}];
return false;
}
}
}
else {
validate29.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema40.properties.call_id.type,parentSchema:schema40.properties.call_id,data:data1}];
return false;
}
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.action !== undefined){
let data2 = data.action;
const _errs4 = errors;
const _errs5 = errors;
if(errors === _errs5){
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
let missing1;
if((data2.commands === undefined) && (missing1 = "commands")){
validate29.errors = [{instancePath:instancePath+"/action",schemaPath:"#/$defs/InputShellAction/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema41.required,parentSchema:schema41,data:data2}];
return false;
}
else {
if(data2.commands !== undefined){
let data3 = data2.commands;
const _errs7 = errors;
if(errors === _errs7){
if(Array.isArray(data3)){
var valid3 = true;
const len0 = data3.length;
for(let i0=0; i0<len0; i0++){
let data4 = data3[i0];
const _errs9 = errors;
if(typeof data4 !== "string"){
validate29.errors = [{instancePath:instancePath+"/action/commands/" + i0,schemaPath:"#/$defs/InputShellAction/properties/commands/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.properties.commands.items.type,parentSchema:schema41.properties.commands.items,data:data4}];
return false;
}
var valid3 = _errs9 === errors;
if(!valid3){
break;
}
}
}
else {
validate29.errors = [{instancePath:instancePath+"/action/commands",schemaPath:"#/$defs/InputShellAction/properties/commands/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema41.properties.commands.type,parentSchema:schema41.properties.commands,data:data3}];
return false;
}
}
var valid2 = _errs7 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data2.timeout_ms !== undefined){
let data5 = data2.timeout_ms;
const _errs11 = errors;
if(!((typeof data5 == "number") && (isFinite(data5)))){
validate29.errors = [{instancePath:instancePath+"/action/timeout_ms",schemaPath:"#/$defs/InputShellAction/properties/timeout_ms/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema41.properties.timeout_ms.type,parentSchema:schema41.properties.timeout_ms,data:data5}];
return false;
}
var valid2 = _errs11 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data2.max_output_length !== undefined){
let data6 = data2.max_output_length;
const _errs13 = errors;
if(!((typeof data6 == "number") && (isFinite(data6)))){
validate29.errors = [{instancePath:instancePath+"/action/max_output_length",schemaPath:"#/$defs/InputShellAction/properties/max_output_length/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema41.properties.max_output_length.type,parentSchema:schema41.properties.max_output_length,data:data6}];
return false;
}
var valid2 = _errs13 === errors;
}
else {
var valid2 = true;
}
}
}
}
}
else {
validate29.errors = [{instancePath:instancePath+"/action",schemaPath:"#/$defs/InputShellAction/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema41.type,parentSchema:schema41,data:data2}];
return false;
}
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data7 = data.id;
const _errs15 = errors;
if(typeof data7 !== "string"){
validate29.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema40.properties.id.type,parentSchema:schema40.properties.id,data:data7}];
return false;
}
var valid0 = _errs15 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.status !== undefined){
let data8 = data.status;
const _errs17 = errors;
if(typeof data8 !== "string"){
validate29.errors = [{instancePath:instancePath+"/status",schemaPath:"#/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema40.properties.status.type,parentSchema:schema40.properties.status,data:data8}];
return false;
}
var valid0 = _errs17 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
else {
validate29.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema40.type,parentSchema:schema40,data}];
return false;
}
}
validate29.errors = vErrors;
return errors === 0;
}

const schema42 = {"type":"object","properties":{"type":{"const":"apply_patch_call"},"call_id":{"type":"string","minLength":1,"maxLength":65536,"description":"The backend's id of the call. Some gateways carry a thought signature in it, so it can be long."},"operation":{"$ref":"response.json#/$defs/PatchOperation"},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","call_id","operation"]};
const schema71 = {"type":"object","properties":{"type":{"enum":["create_file","update_file","delete_file"]},"path":{"type":"string","minLength":1},"diff":{"type":"string"}},"required":["type","path"]};

function validate30(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((((data.type === undefined) && (missing0 = "type")) || ((data.call_id === undefined) && (missing0 = "call_id"))) || ((data.operation === undefined) && (missing0 = "operation"))){
validate30.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema42.required,parentSchema:schema42,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("apply_patch_call" !== data0){
validate30.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "apply_patch_call"},message:"must be equal to constant",schema:"apply_patch_call",parentSchema:schema42.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.call_id !== undefined){
let data1 = data.call_id;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data1 === "string"){
if(func2(data1) > 65536){
validate30.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema42.properties.call_id,data:data1}];
return false;
}
else {
if(func2(data1) < 1){
validate30.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema42.properties.call_id,data:data1}];
return false;
}
}
}
else {
validate30.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema42.properties.call_id.type,parentSchema:schema42.properties.call_id,data:data1}];
return false;
}
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.operation !== undefined){
let data2 = data.operation;
const _errs4 = errors;
const _errs5 = errors;
if(errors === _errs5){
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
let missing1;
if(((data2.type === undefined) && (missing1 = "type")) || ((data2.path === undefined) && (missing1 = "path"))){
validate30.errors = [{instancePath:instancePath+"/operation",schemaPath:"response.json#/$defs/PatchOperation/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema71.required,parentSchema:schema71,data:data2}];
return false;
}
else {
if(data2.type !== undefined){
let data3 = data2.type;
const _errs7 = errors;
if(!(((data3 === "create_file") || (data3 === "update_file")) || (data3 === "delete_file"))){
validate30.errors = [{instancePath:instancePath+"/operation/type",schemaPath:"response.json#/$defs/PatchOperation/properties/type/enum",keyword:"enum",params:{allowedValues: schema71.properties.type.enum},message:"must be equal to one of the allowed values",schema:schema71.properties.type.enum,parentSchema:schema71.properties.type,data:data3}];
return false;
}
var valid2 = _errs7 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data2.path !== undefined){
let data4 = data2.path;
const _errs8 = errors;
if(errors === _errs8){
if(typeof data4 === "string"){
if(func2(data4) < 1){
validate30.errors = [{instancePath:instancePath+"/operation/path",schemaPath:"response.json#/$defs/PatchOperation/properties/path/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema71.properties.path,data:data4}];
return false;
}
}
else {
validate30.errors = [{instancePath:instancePath+"/operation/path",schemaPath:"response.json#/$defs/PatchOperation/properties/path/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema71.properties.path.type,parentSchema:schema71.properties.path,data:data4}];
return false;
}
}
var valid2 = _errs8 === errors;
}
else {
var valid2 = true;
}
if(valid2){
if(data2.diff !== undefined){
let data5 = data2.diff;
const _errs10 = errors;
if(typeof data5 !== "string"){
validate30.errors = [{instancePath:instancePath+"/operation/diff",schemaPath:"response.json#/$defs/PatchOperation/properties/diff/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema71.properties.diff.type,parentSchema:schema71.properties.diff,data:data5}];
return false;
}
var valid2 = _errs10 === errors;
}
else {
var valid2 = true;
}
}
}
}
}
else {
validate30.errors = [{instancePath:instancePath+"/operation",schemaPath:"response.json#/$defs/PatchOperation/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema71.type,parentSchema:schema71,data:data2}];
return false;
}
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data6 = data.id;
const _errs12 = errors;
if(typeof data6 !== "string"){
validate30.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema42.properties.id.type,parentSchema:schema42.properties.id,data:data6}];
return false;
}
var valid0 = _errs12 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.status !== undefined){
let data7 = data.status;
const _errs14 = errors;
if(typeof data7 !== "string"){
validate30.errors = [{instancePath:instancePath+"/status",schemaPath:"#/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema42.properties.status.type,parentSchema:schema42.properties.status,data:data7}];
return false;
}
var valid0 = _errs14 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
else {
validate30.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema42.type,parentSchema:schema42,data}];
return false;
}
}
validate30.errors = vErrors;
return errors === 0;
}

const schema100 = {"type":"object","properties":{"type":{"const":"additional_tools"},"role":{"type":"string"},"tools":{"type":"array","items":{"$ref":"#/$defs/ToolParam"},"maxItems":512},"id":{"type":"string"},"status":{"type":"string"}},"required":["type","tools"],"description":"Tools given as an item of the input."};

function validate68(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.type === undefined) && (missing0 = "type")) || ((data.tools === undefined) && (missing0 = "tools"))){
validate68.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema100.required,parentSchema:schema100,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("additional_tools" !== data0){
validate68.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "additional_tools"},message:"must be equal to constant",schema:"additional_tools",parentSchema:schema100.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.role !== undefined){
let data1 = data.role;
const _errs2 = errors;
if(typeof data1 !== "string"){
validate68.errors = [{instancePath:instancePath+"/role",schemaPath:"#/properties/role/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema100.properties.role.type,parentSchema:schema100.properties.role,data:data1}];
return false;
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.tools !== undefined){
let data2 = data.tools;
const _errs4 = errors;
if(errors === _errs4){
if(Array.isArray(data2)){
if(data2.length > 512){
validate68.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/maxItems",keyword:"maxItems",params:{limit: 512},message:"must NOT have more than 512 items",schema:512,parentSchema:schema100.properties.tools,data:data2}];
return false;
}
else {
var valid1 = true;
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
const _errs6 = errors;
if(!(validate22(data2[i0], {instancePath:instancePath+"/tools/" + i0,parentData:data2,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate22.errors : vErrors.concat(validate22.errors);
errors = vErrors.length;
}
var valid1 = _errs6 === errors;
if(!valid1){
break;
}
}
}
}
else {
validate68.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema100.properties.tools.type,parentSchema:schema100.properties.tools,data:data2}];
return false;
}
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data4 = data.id;
const _errs7 = errors;
if(typeof data4 !== "string"){
validate68.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema100.properties.id.type,parentSchema:schema100.properties.id,data:data4}];
return false;
}
var valid0 = _errs7 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.status !== undefined){
let data5 = data.status;
const _errs9 = errors;
if(typeof data5 !== "string"){
validate68.errors = [{instancePath:instancePath+"/status",schemaPath:"#/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema100.properties.status.type,parentSchema:schema100.properties.status,data:data5}];
return false;
}
var valid0 = _errs9 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
else {
validate68.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema100.type,parentSchema:schema100,data}];
return false;
}
}
validate68.errors = vErrors;
return errors === 0;
}

const schema101 = {"type":"object","properties":{"type":{"const":"agent_message"},"id":{"type":"string"},"author":{"type":"string"},"recipient":{"type":"string"},"content":{"type":"array","items":{"$ref":"#/$defs/AgentMessagePart"}}},"required":["type","content"],"description":"A message from one agent of the client to another, such as the task of a sub-agent in Codex."};
const schema102 = {"type":"object","discriminator":{"propertyName":"type"},"oneOf":[{"$ref":"#/$defs/InputText"},{"$ref":"#/$defs/InputImage"},{"$ref":"#/$defs/AgentPayload"}]};
const schema107 = {"type":"object","properties":{"type":{"const":"encrypted_content"},"encrypted_content":{"type":"string"}},"required":["type","encrypted_content"],"description":"The text that the model wrote for another agent. This gateway encrypts no arguments, so it comes back as plain text."};

function validate71(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
const tag0 = data.type;
if(typeof tag0 == "string"){
if(tag0 === "input_text"){
const _errs3 = errors;
if(errors === _errs3){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.type === undefined) && (missing0 = "type")) || ((data.text === undefined) && (missing0 = "text"))){
validate71.errors = [{instancePath,schemaPath:"#/$defs/InputText/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema18.required,parentSchema:schema18,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs5 = errors;
if(!(((data0 === "input_text") || (data0 === "output_text")) || (data0 === "text"))){
validate71.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputText/properties/type/enum",keyword:"enum",params:{allowedValues: schema18.properties.type.enum},message:"must be equal to one of the allowed values",schema:schema18.properties.type.enum,parentSchema:schema18.properties.type,data:data0}];
return false;
}
var valid3 = _errs5 === errors;
}
else {
var valid3 = true;
}
if(valid3){
if(data.text !== undefined){
let data1 = data.text;
const _errs6 = errors;
if(typeof data1 !== "string"){
validate71.errors = [{instancePath:instancePath+"/text",schemaPath:"#/$defs/InputText/properties/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema18.properties.text.type,parentSchema:schema18.properties.text,data:data1}];
return false;
}
var valid3 = _errs6 === errors;
}
else {
var valid3 = true;
}
}
}
}
else {
validate71.errors = [{instancePath,schemaPath:"#/$defs/InputText/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema18.type,parentSchema:schema18,data}];
return false;
}
}
}
else if(tag0 === "output_text"){
const _errs9 = errors;
if(errors === _errs9){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing1;
if(((data.type === undefined) && (missing1 = "type")) || ((data.text === undefined) && (missing1 = "text"))){
validate71.errors = [{instancePath,schemaPath:"#/$defs/InputText/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema18.required,parentSchema:schema18,data}];
return false;
}
else {
if(data.type !== undefined){
let data2 = data.type;
const _errs11 = errors;
if(!(((data2 === "input_text") || (data2 === "output_text")) || (data2 === "text"))){
validate71.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputText/properties/type/enum",keyword:"enum",params:{allowedValues: schema18.properties.type.enum},message:"must be equal to one of the allowed values",schema:schema18.properties.type.enum,parentSchema:schema18.properties.type,data:data2}];
return false;
}
var valid6 = _errs11 === errors;
}
else {
var valid6 = true;
}
if(valid6){
if(data.text !== undefined){
let data3 = data.text;
const _errs12 = errors;
if(typeof data3 !== "string"){
validate71.errors = [{instancePath:instancePath+"/text",schemaPath:"#/$defs/InputText/properties/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema18.properties.text.type,parentSchema:schema18.properties.text,data:data3}];
return false;
}
var valid6 = _errs12 === errors;
}
else {
var valid6 = true;
}
}
}
}
else {
validate71.errors = [{instancePath,schemaPath:"#/$defs/InputText/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema18.type,parentSchema:schema18,data}];
return false;
}
}
}
else if(tag0 === "text"){
const _errs15 = errors;
if(errors === _errs15){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing2;
if(((data.type === undefined) && (missing2 = "type")) || ((data.text === undefined) && (missing2 = "text"))){
validate71.errors = [{instancePath,schemaPath:"#/$defs/InputText/required",keyword:"required",params:{missingProperty: missing2},message:"must have required property '"+missing2+"'",schema:schema18.required,parentSchema:schema18,data}];
return false;
}
else {
if(data.type !== undefined){
let data4 = data.type;
const _errs17 = errors;
if(!(((data4 === "input_text") || (data4 === "output_text")) || (data4 === "text"))){
validate71.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputText/properties/type/enum",keyword:"enum",params:{allowedValues: schema18.properties.type.enum},message:"must be equal to one of the allowed values",schema:schema18.properties.type.enum,parentSchema:schema18.properties.type,data:data4}];
return false;
}
var valid9 = _errs17 === errors;
}
else {
var valid9 = true;
}
if(valid9){
if(data.text !== undefined){
let data5 = data.text;
const _errs18 = errors;
if(typeof data5 !== "string"){
validate71.errors = [{instancePath:instancePath+"/text",schemaPath:"#/$defs/InputText/properties/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema18.properties.text.type,parentSchema:schema18.properties.text,data:data5}];
return false;
}
var valid9 = _errs18 === errors;
}
else {
var valid9 = true;
}
}
}
}
else {
validate71.errors = [{instancePath,schemaPath:"#/$defs/InputText/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema18.type,parentSchema:schema18,data}];
return false;
}
}
}
else if(tag0 === "input_image"){
const _errs21 = errors;
if(errors === _errs21){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing3;
if((data.type === undefined) && (missing3 = "type")){
validate71.errors = [{instancePath,schemaPath:"#/$defs/InputImage/required",keyword:"required",params:{missingProperty: missing3},message:"must have required property '"+missing3+"'",schema:schema22.required,parentSchema:schema22,data}];
return false;
}
else {
if(data.type !== undefined){
let data6 = data.type;
const _errs23 = errors;
if("input_image" !== data6){
validate71.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputImage/properties/type/const",keyword:"const",params:{allowedValue: "input_image"},message:"must be equal to constant",schema:"input_image",parentSchema:schema22.properties.type,data:data6}];
return false;
}
var valid12 = _errs23 === errors;
}
else {
var valid12 = true;
}
if(valid12){
if(data.image_url !== undefined){
let data7 = data.image_url;
const _errs24 = errors;
if(typeof data7 !== "string"){
validate71.errors = [{instancePath:instancePath+"/image_url",schemaPath:"#/$defs/InputImage/properties/image_url/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema22.properties.image_url.type,parentSchema:schema22.properties.image_url,data:data7}];
return false;
}
var valid12 = _errs24 === errors;
}
else {
var valid12 = true;
}
if(valid12){
if(data.detail !== undefined){
let data8 = data.detail;
const _errs26 = errors;
if(!((((data8 === "low") || (data8 === "high")) || (data8 === "auto")) || (data8 === "original"))){
validate71.errors = [{instancePath:instancePath+"/detail",schemaPath:"#/$defs/InputImage/properties/detail/enum",keyword:"enum",params:{allowedValues: schema22.properties.detail.enum},message:"must be equal to one of the allowed values",schema:schema22.properties.detail.enum,parentSchema:schema22.properties.detail,data:data8}];
return false;
}
var valid12 = _errs26 === errors;
}
else {
var valid12 = true;
}
if(valid12){
if(data.file_id !== undefined){
let data9 = data.file_id;
const _errs27 = errors;
if(typeof data9 !== "string"){
validate71.errors = [{instancePath:instancePath+"/file_id",schemaPath:"#/$defs/InputImage/properties/file_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema22.properties.file_id.type,parentSchema:schema22.properties.file_id,data:data9}];
return false;
}
var valid12 = _errs27 === errors;
}
else {
var valid12 = true;
}
}
}
}
}
}
else {
validate71.errors = [{instancePath,schemaPath:"#/$defs/InputImage/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema22.type,parentSchema:schema22,data}];
return false;
}
}
}
else if(tag0 === "encrypted_content"){
const _errs30 = errors;
if(errors === _errs30){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing4;
if(((data.type === undefined) && (missing4 = "type")) || ((data.encrypted_content === undefined) && (missing4 = "encrypted_content"))){
validate71.errors = [{instancePath,schemaPath:"#/$defs/AgentPayload/required",keyword:"required",params:{missingProperty: missing4},message:"must have required property '"+missing4+"'",schema:schema107.required,parentSchema:schema107,data}];
return false;
}
else {
if(data.type !== undefined){
let data10 = data.type;
const _errs32 = errors;
if("encrypted_content" !== data10){
validate71.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/AgentPayload/properties/type/const",keyword:"const",params:{allowedValue: "encrypted_content"},message:"must be equal to constant",schema:"encrypted_content",parentSchema:schema107.properties.type,data:data10}];
return false;
}
var valid15 = _errs32 === errors;
}
else {
var valid15 = true;
}
if(valid15){
if(data.encrypted_content !== undefined){
let data11 = data.encrypted_content;
const _errs33 = errors;
if(typeof data11 !== "string"){
validate71.errors = [{instancePath:instancePath+"/encrypted_content",schemaPath:"#/$defs/AgentPayload/properties/encrypted_content/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema107.properties.encrypted_content.type,parentSchema:schema107.properties.encrypted_content,data:data11}];
return false;
}
var valid15 = _errs33 === errors;
}
else {
var valid15 = true;
}
}
}
}
else {
validate71.errors = [{instancePath,schemaPath:"#/$defs/AgentPayload/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema107.type,parentSchema:schema107,data}];
return false;
}
}
}
else {
validate71.errors = [{instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "mapping", tag: "type", tagValue: tag0},message:"value of tag \"type\" must be in oneOf",schema:schema102.discriminator,parentSchema:schema102,data}];
return false;
}
}
else {
validate71.errors = [{instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "tag", tag: "type", tagValue: tag0},message:"tag \"type\" must be string",schema:schema102.discriminator,parentSchema:schema102,data}];
return false;
}
}
else {
validate71.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema102.type,parentSchema:schema102,data}];
return false;
}
}
validate71.errors = vErrors;
return errors === 0;
}


function validate70(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.type === undefined) && (missing0 = "type")) || ((data.content === undefined) && (missing0 = "content"))){
validate70.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema101.required,parentSchema:schema101,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("agent_message" !== data0){
validate70.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "agent_message"},message:"must be equal to constant",schema:"agent_message",parentSchema:schema101.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data1 = data.id;
const _errs2 = errors;
if(typeof data1 !== "string"){
validate70.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema101.properties.id.type,parentSchema:schema101.properties.id,data:data1}];
return false;
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.author !== undefined){
let data2 = data.author;
const _errs4 = errors;
if(typeof data2 !== "string"){
validate70.errors = [{instancePath:instancePath+"/author",schemaPath:"#/properties/author/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema101.properties.author.type,parentSchema:schema101.properties.author,data:data2}];
return false;
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.recipient !== undefined){
let data3 = data.recipient;
const _errs6 = errors;
if(typeof data3 !== "string"){
validate70.errors = [{instancePath:instancePath+"/recipient",schemaPath:"#/properties/recipient/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema101.properties.recipient.type,parentSchema:schema101.properties.recipient,data:data3}];
return false;
}
var valid0 = _errs6 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.content !== undefined){
let data4 = data.content;
const _errs8 = errors;
if(errors === _errs8){
if(Array.isArray(data4)){
var valid1 = true;
const len0 = data4.length;
for(let i0=0; i0<len0; i0++){
const _errs10 = errors;
if(!(validate71(data4[i0], {instancePath:instancePath+"/content/" + i0,parentData:data4,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate71.errors : vErrors.concat(validate71.errors);
errors = vErrors.length;
}
var valid1 = _errs10 === errors;
if(!valid1){
break;
}
}
}
else {
validate70.errors = [{instancePath:instancePath+"/content",schemaPath:"#/properties/content/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema101.properties.content.type,parentSchema:schema101.properties.content,data:data4}];
return false;
}
}
var valid0 = _errs8 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
else {
validate70.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema101.type,parentSchema:schema101,data}];
return false;
}
}
validate70.errors = vErrors;
return errors === 0;
}

const schema108 = {"type":"object","properties":{"type":{"const":"configuration_update"},"id":{"type":"string"},"reasoning":{"type":"object","properties":{"effort":{"$ref":"#/$defs/ReasoningEffort"}},"required":[]},"text":{"$ref":"#/$defs/TextParam"}},"required":["type"],"description":"Replaces the reasoning effort and the text format of the request. The last one wins."};
const schema109 = {"title":"ReasoningEffort","enum":["none","minimal","low","medium","high","xhigh","max"]};
const schema110 = {"type":"object","properties":{"format":{"$ref":"#/$defs/RequestedFormat"},"verbosity":{"$ref":"response.json#/$defs/Verbosity"}},"required":[]};
const schema97 = {"enum":["low","medium","high"]};
const schema111 = {"type":"object","discriminator":{"propertyName":"type"},"oneOf":[{"$ref":"response.json#/$defs/PlainTextFormat"},{"$ref":"response.json#/$defs/JsonObjectFormat"},{"$ref":"#/$defs/JsonSchemaFormat"}]};
const schema94 = {"type":"object","properties":{"type":{"const":"text"}},"required":["type"]};
const schema95 = {"type":"object","properties":{"type":{"const":"json_object"}},"required":["type"]};
const schema114 = {"type":"object","properties":{"type":{"const":"json_schema"},"name":{"type":"string","pattern":"^[a-zA-Z0-9_-]{1,64}$","description":"1 to 64 letters, digits, underscores and hyphens."},"description":{"type":"string"},"schema":{"type":"object","tsType":"Readonly<Record<string, unknown>>"},"strict":{"type":"boolean"}},"required":["type","schema"]};
const pattern1 = new RegExp("^[a-zA-Z0-9_-]{1,64}$", "u");

function validate75(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
const tag0 = data.type;
if(typeof tag0 == "string"){
if(tag0 === "text"){
const _errs3 = errors;
if(errors === _errs3){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((data.type === undefined) && (missing0 = "type")){
validate75.errors = [{instancePath,schemaPath:"response.json#/$defs/PlainTextFormat/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema94.required,parentSchema:schema94,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
if("text" !== data0){
validate75.errors = [{instancePath:instancePath+"/type",schemaPath:"response.json#/$defs/PlainTextFormat/properties/type/const",keyword:"const",params:{allowedValue: "text"},message:"must be equal to constant",schema:"text",parentSchema:schema94.properties.type,data:data0}];
return false;
}
}
}
}
else {
validate75.errors = [{instancePath,schemaPath:"response.json#/$defs/PlainTextFormat/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema94.type,parentSchema:schema94,data}];
return false;
}
}
}
else if(tag0 === "json_object"){
const _errs7 = errors;
if(errors === _errs7){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing1;
if((data.type === undefined) && (missing1 = "type")){
validate75.errors = [{instancePath,schemaPath:"response.json#/$defs/JsonObjectFormat/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema95.required,parentSchema:schema95,data}];
return false;
}
else {
if(data.type !== undefined){
let data1 = data.type;
if("json_object" !== data1){
validate75.errors = [{instancePath:instancePath+"/type",schemaPath:"response.json#/$defs/JsonObjectFormat/properties/type/const",keyword:"const",params:{allowedValue: "json_object"},message:"must be equal to constant",schema:"json_object",parentSchema:schema95.properties.type,data:data1}];
return false;
}
}
}
}
else {
validate75.errors = [{instancePath,schemaPath:"response.json#/$defs/JsonObjectFormat/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema95.type,parentSchema:schema95,data}];
return false;
}
}
}
else if(tag0 === "json_schema"){
const _errs11 = errors;
if(errors === _errs11){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing2;
if(((data.type === undefined) && (missing2 = "type")) || ((data.schema === undefined) && (missing2 = "schema"))){
validate75.errors = [{instancePath,schemaPath:"#/$defs/JsonSchemaFormat/required",keyword:"required",params:{missingProperty: missing2},message:"must have required property '"+missing2+"'",schema:schema114.required,parentSchema:schema114,data}];
return false;
}
else {
if(data.type !== undefined){
let data2 = data.type;
const _errs13 = errors;
if("json_schema" !== data2){
validate75.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/JsonSchemaFormat/properties/type/const",keyword:"const",params:{allowedValue: "json_schema"},message:"must be equal to constant",schema:"json_schema",parentSchema:schema114.properties.type,data:data2}];
return false;
}
var valid9 = _errs13 === errors;
}
else {
var valid9 = true;
}
if(valid9){
if(data.name !== undefined){
let data3 = data.name;
const _errs14 = errors;
if(errors === _errs14){
if(typeof data3 === "string"){
if(!pattern1.test(data3)){
validate75.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/JsonSchemaFormat/properties/name/pattern",keyword:"pattern",params:{pattern: "^[a-zA-Z0-9_-]{1,64}$"},message:"must match pattern \""+"^[a-zA-Z0-9_-]{1,64}$"+"\"",schema:"^[a-zA-Z0-9_-]{1,64}$",parentSchema:schema114.properties.name,data:data3}];
return false;
}
}
else {
validate75.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/JsonSchemaFormat/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema114.properties.name.type,parentSchema:schema114.properties.name,data:data3}];
return false;
}
}
var valid9 = _errs14 === errors;
}
else {
var valid9 = true;
}
if(valid9){
if(data.description !== undefined){
let data4 = data.description;
const _errs16 = errors;
if(typeof data4 !== "string"){
validate75.errors = [{instancePath:instancePath+"/description",schemaPath:"#/$defs/JsonSchemaFormat/properties/description/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema114.properties.description.type,parentSchema:schema114.properties.description,data:data4}];
return false;
}
var valid9 = _errs16 === errors;
}
else {
var valid9 = true;
}
if(valid9){
if(data.schema !== undefined){
let data5 = data.schema;
const _errs18 = errors;
if(!(data5 && typeof data5 == "object" && !Array.isArray(data5))){
validate75.errors = [{instancePath:instancePath+"/schema",schemaPath:"#/$defs/JsonSchemaFormat/properties/schema/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema114.properties.schema.type,parentSchema:schema114.properties.schema,data:data5}];
return false;
}
var valid9 = _errs18 === errors;
}
else {
var valid9 = true;
}
if(valid9){
if(data.strict !== undefined){
let data6 = data.strict;
const _errs20 = errors;
if(typeof data6 !== "boolean"){
validate75.errors = [{instancePath:instancePath+"/strict",schemaPath:"#/$defs/JsonSchemaFormat/properties/strict/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema114.properties.strict.type,parentSchema:schema114.properties.strict,data:data6}];
return false;
}
var valid9 = _errs20 === errors;
}
else {
var valid9 = true;
}
}
}
}
}
}
}
else {
validate75.errors = [{instancePath,schemaPath:"#/$defs/JsonSchemaFormat/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema114.type,parentSchema:schema114,data}];
return false;
}
}
}
else {
validate75.errors = [{instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "mapping", tag: "type", tagValue: tag0},message:"value of tag \"type\" must be in oneOf",schema:schema111.discriminator,parentSchema:schema111,data}];
return false;
}
}
else {
validate75.errors = [{instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "tag", tag: "type", tagValue: tag0},message:"tag \"type\" must be string",schema:schema111.discriminator,parentSchema:schema111,data}];
return false;
}
}
else {
validate75.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema111.type,parentSchema:schema111,data}];
return false;
}
}
validate75.errors = vErrors;
return errors === 0;
}


function validate74(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.format !== undefined){
const _errs1 = errors;
if(!(validate75(data.format, {instancePath:instancePath+"/format",parentData:data,parentDataProperty:"format",rootData}))){
vErrors = vErrors === null ? validate75.errors : vErrors.concat(validate75.errors);
errors = vErrors.length;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.verbosity !== undefined){
let data1 = data.verbosity;
const _errs2 = errors;
if(!(((data1 === "low") || (data1 === "medium")) || (data1 === "high"))){
validate74.errors = [{instancePath:instancePath+"/verbosity",schemaPath:"response.json#/$defs/Verbosity/enum",keyword:"enum",params:{allowedValues: schema97.enum},message:"must be equal to one of the allowed values",schema:schema97.enum,parentSchema:schema97,data:data1}];
return false;
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
}
}
else {
validate74.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema110.type,parentSchema:schema110,data}];
return false;
}
}
validate74.errors = vErrors;
return errors === 0;
}


function validate73(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((data.type === undefined) && (missing0 = "type")){
validate73.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema108.required,parentSchema:schema108,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("configuration_update" !== data0){
validate73.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "configuration_update"},message:"must be equal to constant",schema:"configuration_update",parentSchema:schema108.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.id !== undefined){
let data1 = data.id;
const _errs2 = errors;
if(typeof data1 !== "string"){
validate73.errors = [{instancePath:instancePath+"/id",schemaPath:"#/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema108.properties.id.type,parentSchema:schema108.properties.id,data:data1}];
return false;
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.reasoning !== undefined){
let data2 = data.reasoning;
const _errs4 = errors;
if(errors === _errs4){
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
if(data2.effort !== undefined){
let data3 = data2.effort;
if(!(((((((data3 === "none") || (data3 === "minimal")) || (data3 === "low")) || (data3 === "medium")) || (data3 === "high")) || (data3 === "xhigh")) || (data3 === "max"))){
validate73.errors = [{instancePath:instancePath+"/reasoning/effort",schemaPath:"#/$defs/ReasoningEffort/enum",keyword:"enum",params:{allowedValues: schema109.enum},message:"must be equal to one of the allowed values",schema:schema109.enum,parentSchema:schema109,data:data3}];
return false;
}
}
}
else {
validate73.errors = [{instancePath:instancePath+"/reasoning",schemaPath:"#/properties/reasoning/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema108.properties.reasoning.type,parentSchema:schema108.properties.reasoning,data:data2}];
return false;
}
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.text !== undefined){
const _errs8 = errors;
if(!(validate74(data.text, {instancePath:instancePath+"/text",parentData:data,parentDataProperty:"text",rootData}))){
vErrors = vErrors === null ? validate74.errors : vErrors.concat(validate74.errors);
errors = vErrors.length;
}
var valid0 = _errs8 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
else {
validate73.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema108.type,parentSchema:schema108,data}];
return false;
}
}
validate73.errors = vErrors;
return errors === 0;
}


function validate13(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
const tag0 = data.type;
if(typeof tag0 == "string"){
if(tag0 === "message"){
if(!(validate14(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate14.errors : vErrors.concat(validate14.errors);
errors = vErrors.length;
}
}
else if(tag0 === "function_call"){
const _errs4 = errors;
if(errors === _errs4){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((((data.type === undefined) && (missing0 = "type")) || ((data.call_id === undefined) && (missing0 = "call_id"))) || ((data.name === undefined) && (missing0 = "name"))) || ((data.arguments === undefined) && (missing0 = "arguments"))){
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputFunctionCall/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema116.required,parentSchema:schema116,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs6 = errors;
if("function_call" !== data0){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputFunctionCall/properties/type/const",keyword:"const",params:{allowedValue: "function_call"},message:"must be equal to constant",schema:"function_call",parentSchema:schema116.properties.type,data:data0}];
return false;
}
var valid4 = _errs6 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.call_id !== undefined){
let data1 = data.call_id;
const _errs7 = errors;
if(errors === _errs7){
if(typeof data1 === "string"){
if(func2(data1) > 65536){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputFunctionCall/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema116.properties.call_id,data:data1}];
return false;
}
else {
if(func2(data1) < 1){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputFunctionCall/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema116.properties.call_id,data:data1}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputFunctionCall/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema116.properties.call_id.type,parentSchema:schema116.properties.call_id,data:data1}];
return false;
}
}
var valid4 = _errs7 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.name !== undefined){
let data2 = data.name;
const _errs9 = errors;
if(errors === _errs9){
if(typeof data2 === "string"){
if(func2(data2) > 256){
validate13.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/InputFunctionCall/properties/name/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema116.properties.name,data:data2}];
return false;
}
else {
if(func2(data2) < 1){
validate13.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/InputFunctionCall/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema116.properties.name,data:data2}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/InputFunctionCall/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema116.properties.name.type,parentSchema:schema116.properties.name,data:data2}];
return false;
}
}
var valid4 = _errs9 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.arguments !== undefined){
let data3 = data.arguments;
const _errs11 = errors;
if(typeof data3 !== "string"){
validate13.errors = [{instancePath:instancePath+"/arguments",schemaPath:"#/$defs/InputFunctionCall/properties/arguments/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema116.properties.arguments.type,parentSchema:schema116.properties.arguments,data:data3}];
return false;
}
var valid4 = _errs11 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.id !== undefined){
let data4 = data.id;
const _errs13 = errors;
if(typeof data4 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/InputFunctionCall/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema116.properties.id.type,parentSchema:schema116.properties.id,data:data4}];
return false;
}
var valid4 = _errs13 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.status !== undefined){
let data5 = data.status;
const _errs15 = errors;
if(typeof data5 !== "string"){
validate13.errors = [{instancePath:instancePath+"/status",schemaPath:"#/$defs/InputFunctionCall/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema116.properties.status.type,parentSchema:schema116.properties.status,data:data5}];
return false;
}
var valid4 = _errs15 === errors;
}
else {
var valid4 = true;
}
if(valid4){
if(data.namespace !== undefined){
let data6 = data.namespace;
const _errs17 = errors;
if(errors === _errs17){
if(typeof data6 === "string"){
if(func2(data6) > 256){
validate13.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/InputFunctionCall/properties/namespace/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema116.properties.namespace,data:data6}];
return false;
}
else {
if(func2(data6) < 1){
validate13.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/InputFunctionCall/properties/namespace/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema116.properties.namespace,data:data6}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/InputFunctionCall/properties/namespace/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema116.properties.namespace.type,parentSchema:schema116.properties.namespace,data:data6}];
return false;
}
}
var valid4 = _errs17 === errors;
}
else {
var valid4 = true;
}
}
}
}
}
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputFunctionCall/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema116.type,parentSchema:schema116,data}];
return false;
}
}
}
else if(tag0 === "function_call_output"){
if(!(validate17(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate17.errors : vErrors.concat(validate17.errors);
errors = vErrors.length;
}
}
else if(tag0 === "reasoning"){
const _errs21 = errors;
if(errors === _errs21){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing1;
if((data.type === undefined) && (missing1 = "type")){
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputReasoning/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema117.required,parentSchema:schema117,data}];
return false;
}
else {
if(data.type !== undefined){
let data7 = data.type;
const _errs23 = errors;
if("reasoning" !== data7){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputReasoning/properties/type/const",keyword:"const",params:{allowedValue: "reasoning"},message:"must be equal to constant",schema:"reasoning",parentSchema:schema117.properties.type,data:data7}];
return false;
}
var valid8 = _errs23 === errors;
}
else {
var valid8 = true;
}
if(valid8){
if(data.encrypted_content !== undefined){
let data8 = data.encrypted_content;
const _errs24 = errors;
if(typeof data8 !== "string"){
validate13.errors = [{instancePath:instancePath+"/encrypted_content",schemaPath:"#/$defs/InputReasoning/properties/encrypted_content/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema117.properties.encrypted_content.type,parentSchema:schema117.properties.encrypted_content,data:data8}];
return false;
}
var valid8 = _errs24 === errors;
}
else {
var valid8 = true;
}
if(valid8){
if(data.id !== undefined){
let data9 = data.id;
const _errs26 = errors;
if(typeof data9 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/InputReasoning/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema117.properties.id.type,parentSchema:schema117.properties.id,data:data9}];
return false;
}
var valid8 = _errs26 === errors;
}
else {
var valid8 = true;
}
if(valid8){
if(data.status !== undefined){
let data10 = data.status;
const _errs28 = errors;
if(typeof data10 !== "string"){
validate13.errors = [{instancePath:instancePath+"/status",schemaPath:"#/$defs/InputReasoning/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema117.properties.status.type,parentSchema:schema117.properties.status,data:data10}];
return false;
}
var valid8 = _errs28 === errors;
}
else {
var valid8 = true;
}
}
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputReasoning/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema117.type,parentSchema:schema117,data}];
return false;
}
}
}
else if(tag0 === "item_reference"){
const _errs31 = errors;
if(errors === _errs31){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing2;
if(((data.type === undefined) && (missing2 = "type")) || ((data.id === undefined) && (missing2 = "id"))){
validate13.errors = [{instancePath,schemaPath:"#/$defs/ItemReference/required",keyword:"required",params:{missingProperty: missing2},message:"must have required property '"+missing2+"'",schema:schema118.required,parentSchema:schema118,data}];
return false;
}
else {
if(data.type !== undefined){
let data11 = data.type;
const _errs33 = errors;
if("item_reference" !== data11){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/ItemReference/properties/type/const",keyword:"const",params:{allowedValue: "item_reference"},message:"must be equal to constant",schema:"item_reference",parentSchema:schema118.properties.type,data:data11}];
return false;
}
var valid11 = _errs33 === errors;
}
else {
var valid11 = true;
}
if(valid11){
if(data.id !== undefined){
let data12 = data.id;
const _errs34 = errors;
if(typeof data12 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/ItemReference/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema118.properties.id.type,parentSchema:schema118.properties.id,data:data12}];
return false;
}
var valid11 = _errs34 === errors;
}
else {
var valid11 = true;
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/ItemReference/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema118.type,parentSchema:schema118,data}];
return false;
}
}
}
else if(tag0 === "custom_tool_call"){
const _errs37 = errors;
if(errors === _errs37){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing3;
if(((((data.type === undefined) && (missing3 = "type")) || ((data.call_id === undefined) && (missing3 = "call_id"))) || ((data.name === undefined) && (missing3 = "name"))) || ((data.input === undefined) && (missing3 = "input"))){
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputCustomToolCall/required",keyword:"required",params:{missingProperty: missing3},message:"must have required property '"+missing3+"'",schema:schema119.required,parentSchema:schema119,data}];
return false;
}
else {
if(data.type !== undefined){
let data13 = data.type;
const _errs39 = errors;
if("custom_tool_call" !== data13){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputCustomToolCall/properties/type/const",keyword:"const",params:{allowedValue: "custom_tool_call"},message:"must be equal to constant",schema:"custom_tool_call",parentSchema:schema119.properties.type,data:data13}];
return false;
}
var valid14 = _errs39 === errors;
}
else {
var valid14 = true;
}
if(valid14){
if(data.call_id !== undefined){
let data14 = data.call_id;
const _errs40 = errors;
if(errors === _errs40){
if(typeof data14 === "string"){
if(func2(data14) > 65536){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputCustomToolCall/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema119.properties.call_id,data:data14}];
return false;
}
else {
if(func2(data14) < 1){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputCustomToolCall/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema119.properties.call_id,data:data14}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputCustomToolCall/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema119.properties.call_id.type,parentSchema:schema119.properties.call_id,data:data14}];
return false;
}
}
var valid14 = _errs40 === errors;
}
else {
var valid14 = true;
}
if(valid14){
if(data.name !== undefined){
let data15 = data.name;
const _errs42 = errors;
if(errors === _errs42){
if(typeof data15 === "string"){
if(func2(data15) > 256){
validate13.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/InputCustomToolCall/properties/name/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema119.properties.name,data:data15}];
return false;
}
else {
if(func2(data15) < 1){
validate13.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/InputCustomToolCall/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema119.properties.name,data:data15}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/InputCustomToolCall/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema119.properties.name.type,parentSchema:schema119.properties.name,data:data15}];
return false;
}
}
var valid14 = _errs42 === errors;
}
else {
var valid14 = true;
}
if(valid14){
if(data.namespace !== undefined){
let data16 = data.namespace;
const _errs44 = errors;
if(errors === _errs44){
if(typeof data16 === "string"){
if(func2(data16) > 256){
validate13.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/InputCustomToolCall/properties/namespace/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema119.properties.namespace,data:data16}];
return false;
}
else {
if(func2(data16) < 1){
validate13.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/InputCustomToolCall/properties/namespace/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema119.properties.namespace,data:data16}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/InputCustomToolCall/properties/namespace/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema119.properties.namespace.type,parentSchema:schema119.properties.namespace,data:data16}];
return false;
}
}
var valid14 = _errs44 === errors;
}
else {
var valid14 = true;
}
if(valid14){
if(data.input !== undefined){
let data17 = data.input;
const _errs46 = errors;
if(typeof data17 !== "string"){
validate13.errors = [{instancePath:instancePath+"/input",schemaPath:"#/$defs/InputCustomToolCall/properties/input/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema119.properties.input.type,parentSchema:schema119.properties.input,data:data17}];
return false;
}
var valid14 = _errs46 === errors;
}
else {
var valid14 = true;
}
if(valid14){
if(data.id !== undefined){
let data18 = data.id;
const _errs48 = errors;
if(typeof data18 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/InputCustomToolCall/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema119.properties.id.type,parentSchema:schema119.properties.id,data:data18}];
return false;
}
var valid14 = _errs48 === errors;
}
else {
var valid14 = true;
}
if(valid14){
if(data.status !== undefined){
let data19 = data.status;
const _errs50 = errors;
if(typeof data19 !== "string"){
validate13.errors = [{instancePath:instancePath+"/status",schemaPath:"#/$defs/InputCustomToolCall/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema119.properties.status.type,parentSchema:schema119.properties.status,data:data19}];
return false;
}
var valid14 = _errs50 === errors;
}
else {
var valid14 = true;
}
}
}
}
}
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputCustomToolCall/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema119.type,parentSchema:schema119,data}];
return false;
}
}
}
else if(tag0 === "custom_tool_call_output"){
if(!(validate19(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate19.errors : vErrors.concat(validate19.errors);
errors = vErrors.length;
}
}
else if(tag0 === "tool_search_call"){
const _errs54 = errors;
if(errors === _errs54){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing4;
if(((data.type === undefined) && (missing4 = "type")) || ((data.arguments === undefined) && (missing4 = "arguments"))){
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputToolSearchCall/required",keyword:"required",params:{missingProperty: missing4},message:"must have required property '"+missing4+"'",schema:schema120.required,parentSchema:schema120,data}];
return false;
}
else {
if(data.type !== undefined){
let data20 = data.type;
const _errs56 = errors;
if("tool_search_call" !== data20){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputToolSearchCall/properties/type/const",keyword:"const",params:{allowedValue: "tool_search_call"},message:"must be equal to constant",schema:"tool_search_call",parentSchema:schema120.properties.type,data:data20}];
return false;
}
var valid18 = _errs56 === errors;
}
else {
var valid18 = true;
}
if(valid18){
if(data.call_id !== undefined){
let data21 = data.call_id;
const _errs57 = errors;
if(errors === _errs57){
if(typeof data21 === "string"){
if(func2(data21) > 65536){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputToolSearchCall/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema120.properties.call_id,data:data21}];
return false;
}
else {
if(func2(data21) < 1){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputToolSearchCall/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema120.properties.call_id,data:data21}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputToolSearchCall/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema120.properties.call_id.type,parentSchema:schema120.properties.call_id,data:data21}];
return false;
}
}
var valid18 = _errs57 === errors;
}
else {
var valid18 = true;
}
if(valid18){
if(data.execution !== undefined){
let data22 = data.execution;
const _errs59 = errors;
if(!((data22 === "client") || (data22 === "server"))){
validate13.errors = [{instancePath:instancePath+"/execution",schemaPath:"#/$defs/InputToolSearchCall/properties/execution/enum",keyword:"enum",params:{allowedValues: schema120.properties.execution.enum},message:"must be equal to one of the allowed values",schema:schema120.properties.execution.enum,parentSchema:schema120.properties.execution,data:data22}];
return false;
}
var valid18 = _errs59 === errors;
}
else {
var valid18 = true;
}
if(valid18){
if(data.id !== undefined){
let data23 = data.id;
const _errs60 = errors;
if(typeof data23 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/InputToolSearchCall/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema120.properties.id.type,parentSchema:schema120.properties.id,data:data23}];
return false;
}
var valid18 = _errs60 === errors;
}
else {
var valid18 = true;
}
if(valid18){
if(data.status !== undefined){
let data24 = data.status;
const _errs62 = errors;
if(typeof data24 !== "string"){
validate13.errors = [{instancePath:instancePath+"/status",schemaPath:"#/$defs/InputToolSearchCall/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema120.properties.status.type,parentSchema:schema120.properties.status,data:data24}];
return false;
}
var valid18 = _errs62 === errors;
}
else {
var valid18 = true;
}
}
}
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputToolSearchCall/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema120.type,parentSchema:schema120,data}];
return false;
}
}
}
else if(tag0 === "tool_search_output"){
if(!(validate21(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate21.errors : vErrors.concat(validate21.errors);
errors = vErrors.length;
}
}
else if(tag0 === "local_shell_call"){
if(!(validate28(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate28.errors : vErrors.concat(validate28.errors);
errors = vErrors.length;
}
}
else if(tag0 === "local_shell_call_output"){
const _errs67 = errors;
if(errors === _errs67){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing5;
if(((data.type === undefined) && (missing5 = "type")) || ((data.output === undefined) && (missing5 = "output"))){
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputLocalShellCallOutput/required",keyword:"required",params:{missingProperty: missing5},message:"must have required property '"+missing5+"'",schema:schema121.required,parentSchema:schema121,data}];
return false;
}
else {
if(data.type !== undefined){
let data25 = data.type;
const _errs69 = errors;
if("local_shell_call_output" !== data25){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputLocalShellCallOutput/properties/type/const",keyword:"const",params:{allowedValue: "local_shell_call_output"},message:"must be equal to constant",schema:"local_shell_call_output",parentSchema:schema121.properties.type,data:data25}];
return false;
}
var valid23 = _errs69 === errors;
}
else {
var valid23 = true;
}
if(valid23){
if(data.call_id !== undefined){
let data26 = data.call_id;
const _errs70 = errors;
if(errors === _errs70){
if(typeof data26 === "string"){
if(func2(data26) > 65536){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputLocalShellCallOutput/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema121.properties.call_id,data:data26}];
return false;
}
else {
if(func2(data26) < 1){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputLocalShellCallOutput/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema121.properties.call_id,data:data26}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputLocalShellCallOutput/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema121.properties.call_id.type,parentSchema:schema121.properties.call_id,data:data26}];
return false;
}
}
var valid23 = _errs70 === errors;
}
else {
var valid23 = true;
}
if(valid23){
if(data.output !== undefined){
let data27 = data.output;
const _errs72 = errors;
if(typeof data27 !== "string"){
validate13.errors = [{instancePath:instancePath+"/output",schemaPath:"#/$defs/InputLocalShellCallOutput/properties/output/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema121.properties.output.type,parentSchema:schema121.properties.output,data:data27}];
return false;
}
var valid23 = _errs72 === errors;
}
else {
var valid23 = true;
}
if(valid23){
if(data.id !== undefined){
let data28 = data.id;
const _errs74 = errors;
if(typeof data28 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/InputLocalShellCallOutput/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema121.properties.id.type,parentSchema:schema121.properties.id,data:data28}];
return false;
}
var valid23 = _errs74 === errors;
}
else {
var valid23 = true;
}
if(valid23){
if(data.status !== undefined){
let data29 = data.status;
const _errs76 = errors;
if(typeof data29 !== "string"){
validate13.errors = [{instancePath:instancePath+"/status",schemaPath:"#/$defs/InputLocalShellCallOutput/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema121.properties.status.type,parentSchema:schema121.properties.status,data:data29}];
return false;
}
var valid23 = _errs76 === errors;
}
else {
var valid23 = true;
}
}
}
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputLocalShellCallOutput/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema121.type,parentSchema:schema121,data}];
return false;
}
}
}
else if(tag0 === "shell_call"){
if(!(validate29(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate29.errors : vErrors.concat(validate29.errors);
errors = vErrors.length;
}
}
else if(tag0 === "shell_call_output"){
const _errs80 = errors;
if(errors === _errs80){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing6;
if((((data.type === undefined) && (missing6 = "type")) || ((data.call_id === undefined) && (missing6 = "call_id"))) || ((data.output === undefined) && (missing6 = "output"))){
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputShellCallOutput/required",keyword:"required",params:{missingProperty: missing6},message:"must have required property '"+missing6+"'",schema:schema122.required,parentSchema:schema122,data}];
return false;
}
else {
if(data.type !== undefined){
let data30 = data.type;
const _errs82 = errors;
if("shell_call_output" !== data30){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputShellCallOutput/properties/type/const",keyword:"const",params:{allowedValue: "shell_call_output"},message:"must be equal to constant",schema:"shell_call_output",parentSchema:schema122.properties.type,data:data30}];
return false;
}
var valid27 = _errs82 === errors;
}
else {
var valid27 = true;
}
if(valid27){
if(data.call_id !== undefined){
let data31 = data.call_id;
const _errs83 = errors;
if(errors === _errs83){
if(typeof data31 === "string"){
if(func2(data31) > 65536){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputShellCallOutput/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema122.properties.call_id,data:data31}];
return false;
}
else {
if(func2(data31) < 1){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputShellCallOutput/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema122.properties.call_id,data:data31}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputShellCallOutput/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema122.properties.call_id.type,parentSchema:schema122.properties.call_id,data:data31}];
return false;
}
}
var valid27 = _errs83 === errors;
}
else {
var valid27 = true;
}
if(valid27){
if(data.output !== undefined){
let data32 = data.output;
const _errs85 = errors;
if((typeof data32 !== "string") && (!(Array.isArray(data32)))){
validate13.errors = [{instancePath:instancePath+"/output",schemaPath:"#/$defs/InputShellCallOutput/properties/output/type",keyword:"type",params:{type: schema122.properties.output.type},message:"must be string,array",schema:schema122.properties.output.type,parentSchema:schema122.properties.output,data:data32}];
return false;
}
if(errors === _errs85){
if(Array.isArray(data32)){
if(data32.length > 10000){
validate13.errors = [{instancePath:instancePath+"/output",schemaPath:"#/$defs/InputShellCallOutput/properties/output/maxItems",keyword:"maxItems",params:{limit: 10000},message:"must NOT have more than 10000 items",schema:10000,parentSchema:schema122.properties.output,data:data32}];
return false;
}
else {
var valid28 = true;
const len0 = data32.length;
for(let i0=0; i0<len0; i0++){
let data33 = data32[i0];
const _errs87 = errors;
if(!(data33 && typeof data33 == "object" && !Array.isArray(data33))){
validate13.errors = [{instancePath:instancePath+"/output/" + i0,schemaPath:"#/$defs/InputShellCallOutput/properties/output/items/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema122.properties.output.items.type,parentSchema:schema122.properties.output.items,data:data33}];
return false;
}
var valid28 = _errs87 === errors;
if(!valid28){
break;
}
}
}
}
}
var valid27 = _errs85 === errors;
}
else {
var valid27 = true;
}
if(valid27){
if(data.id !== undefined){
let data34 = data.id;
const _errs89 = errors;
if(typeof data34 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/InputShellCallOutput/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema122.properties.id.type,parentSchema:schema122.properties.id,data:data34}];
return false;
}
var valid27 = _errs89 === errors;
}
else {
var valid27 = true;
}
if(valid27){
if(data.status !== undefined){
let data35 = data.status;
const _errs91 = errors;
if(typeof data35 !== "string"){
validate13.errors = [{instancePath:instancePath+"/status",schemaPath:"#/$defs/InputShellCallOutput/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema122.properties.status.type,parentSchema:schema122.properties.status,data:data35}];
return false;
}
var valid27 = _errs91 === errors;
}
else {
var valid27 = true;
}
}
}
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputShellCallOutput/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema122.type,parentSchema:schema122,data}];
return false;
}
}
}
else if(tag0 === "apply_patch_call"){
if(!(validate30(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate30.errors : vErrors.concat(validate30.errors);
errors = vErrors.length;
}
}
else if(tag0 === "apply_patch_call_output"){
const _errs95 = errors;
if(errors === _errs95){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing7;
if(((data.type === undefined) && (missing7 = "type")) || ((data.call_id === undefined) && (missing7 = "call_id"))){
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputApplyPatchCallOutput/required",keyword:"required",params:{missingProperty: missing7},message:"must have required property '"+missing7+"'",schema:schema123.required,parentSchema:schema123,data}];
return false;
}
else {
if(data.type !== undefined){
let data36 = data.type;
const _errs97 = errors;
if("apply_patch_call_output" !== data36){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputApplyPatchCallOutput/properties/type/const",keyword:"const",params:{allowedValue: "apply_patch_call_output"},message:"must be equal to constant",schema:"apply_patch_call_output",parentSchema:schema123.properties.type,data:data36}];
return false;
}
var valid32 = _errs97 === errors;
}
else {
var valid32 = true;
}
if(valid32){
if(data.call_id !== undefined){
let data37 = data.call_id;
const _errs98 = errors;
if(errors === _errs98){
if(typeof data37 === "string"){
if(func2(data37) > 65536){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputApplyPatchCallOutput/properties/call_id/maxLength",keyword:"maxLength",params:{limit: 65536},message:"must NOT have more than 65536 characters",schema:65536,parentSchema:schema123.properties.call_id,data:data37}];
return false;
}
else {
if(func2(data37) < 1){
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputApplyPatchCallOutput/properties/call_id/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema123.properties.call_id,data:data37}];
return false;
}
}
}
else {
validate13.errors = [{instancePath:instancePath+"/call_id",schemaPath:"#/$defs/InputApplyPatchCallOutput/properties/call_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema123.properties.call_id.type,parentSchema:schema123.properties.call_id,data:data37}];
return false;
}
}
var valid32 = _errs98 === errors;
}
else {
var valid32 = true;
}
if(valid32){
if(data.output !== undefined){
let data38 = data.output;
const _errs100 = errors;
if(typeof data38 !== "string"){
validate13.errors = [{instancePath:instancePath+"/output",schemaPath:"#/$defs/InputApplyPatchCallOutput/properties/output/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema123.properties.output.type,parentSchema:schema123.properties.output,data:data38}];
return false;
}
var valid32 = _errs100 === errors;
}
else {
var valid32 = true;
}
if(valid32){
if(data.id !== undefined){
let data39 = data.id;
const _errs102 = errors;
if(typeof data39 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/InputApplyPatchCallOutput/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema123.properties.id.type,parentSchema:schema123.properties.id,data:data39}];
return false;
}
var valid32 = _errs102 === errors;
}
else {
var valid32 = true;
}
if(valid32){
if(data.status !== undefined){
let data40 = data.status;
const _errs104 = errors;
if(typeof data40 !== "string"){
validate13.errors = [{instancePath:instancePath+"/status",schemaPath:"#/$defs/InputApplyPatchCallOutput/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema123.properties.status.type,parentSchema:schema123.properties.status,data:data40}];
return false;
}
var valid32 = _errs104 === errors;
}
else {
var valid32 = true;
}
}
}
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputApplyPatchCallOutput/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema123.type,parentSchema:schema123,data}];
return false;
}
}
}
else if(tag0 === "additional_tools"){
if(!(validate68(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate68.errors : vErrors.concat(validate68.errors);
errors = vErrors.length;
}
}
else if(tag0 === "compaction"){
const _errs108 = errors;
if(errors === _errs108){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing8;
if(((data.type === undefined) && (missing8 = "type")) || ((data.encrypted_content === undefined) && (missing8 = "encrypted_content"))){
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputCompaction/required",keyword:"required",params:{missingProperty: missing8},message:"must have required property '"+missing8+"'",schema:schema124.required,parentSchema:schema124,data}];
return false;
}
else {
if(data.type !== undefined){
let data41 = data.type;
const _errs110 = errors;
if("compaction" !== data41){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/InputCompaction/properties/type/const",keyword:"const",params:{allowedValue: "compaction"},message:"must be equal to constant",schema:"compaction",parentSchema:schema124.properties.type,data:data41}];
return false;
}
var valid36 = _errs110 === errors;
}
else {
var valid36 = true;
}
if(valid36){
if(data.encrypted_content !== undefined){
let data42 = data.encrypted_content;
const _errs111 = errors;
if(errors === _errs111){
if(typeof data42 === "string"){
if(func2(data42) > 10485760){
validate13.errors = [{instancePath:instancePath+"/encrypted_content",schemaPath:"#/$defs/InputCompaction/properties/encrypted_content/maxLength",keyword:"maxLength",params:{limit: 10485760},message:"must NOT have more than 10485760 characters",schema:10485760,parentSchema:schema124.properties.encrypted_content,data:data42}];
return false;
}
}
else {
validate13.errors = [{instancePath:instancePath+"/encrypted_content",schemaPath:"#/$defs/InputCompaction/properties/encrypted_content/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema124.properties.encrypted_content.type,parentSchema:schema124.properties.encrypted_content,data:data42}];
return false;
}
}
var valid36 = _errs111 === errors;
}
else {
var valid36 = true;
}
if(valid36){
if(data.id !== undefined){
let data43 = data.id;
const _errs113 = errors;
if(typeof data43 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/InputCompaction/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema124.properties.id.type,parentSchema:schema124.properties.id,data:data43}];
return false;
}
var valid36 = _errs113 === errors;
}
else {
var valid36 = true;
}
if(valid36){
if(data.status !== undefined){
let data44 = data.status;
const _errs115 = errors;
if(typeof data44 !== "string"){
validate13.errors = [{instancePath:instancePath+"/status",schemaPath:"#/$defs/InputCompaction/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema124.properties.status.type,parentSchema:schema124.properties.status,data:data44}];
return false;
}
var valid36 = _errs115 === errors;
}
else {
var valid36 = true;
}
}
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/InputCompaction/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema124.type,parentSchema:schema124,data}];
return false;
}
}
}
else if(tag0 === "compaction_trigger"){
const _errs118 = errors;
if(errors === _errs118){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing9;
if((data.type === undefined) && (missing9 = "type")){
validate13.errors = [{instancePath,schemaPath:"#/$defs/CompactionTrigger/required",keyword:"required",params:{missingProperty: missing9},message:"must have required property '"+missing9+"'",schema:schema125.required,parentSchema:schema125,data}];
return false;
}
else {
if(data.type !== undefined){
let data45 = data.type;
const _errs120 = errors;
if("compaction_trigger" !== data45){
validate13.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/CompactionTrigger/properties/type/const",keyword:"const",params:{allowedValue: "compaction_trigger"},message:"must be equal to constant",schema:"compaction_trigger",parentSchema:schema125.properties.type,data:data45}];
return false;
}
var valid39 = _errs120 === errors;
}
else {
var valid39 = true;
}
if(valid39){
if(data.id !== undefined){
let data46 = data.id;
const _errs121 = errors;
if(typeof data46 !== "string"){
validate13.errors = [{instancePath:instancePath+"/id",schemaPath:"#/$defs/CompactionTrigger/properties/id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema125.properties.id.type,parentSchema:schema125.properties.id,data:data46}];
return false;
}
var valid39 = _errs121 === errors;
}
else {
var valid39 = true;
}
if(valid39){
if(data.status !== undefined){
let data47 = data.status;
const _errs123 = errors;
if(typeof data47 !== "string"){
validate13.errors = [{instancePath:instancePath+"/status",schemaPath:"#/$defs/CompactionTrigger/properties/status/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema125.properties.status.type,parentSchema:schema125.properties.status,data:data47}];
return false;
}
var valid39 = _errs123 === errors;
}
else {
var valid39 = true;
}
}
}
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/$defs/CompactionTrigger/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema125.type,parentSchema:schema125,data}];
return false;
}
}
}
else if(tag0 === "agent_message"){
if(!(validate70(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate70.errors : vErrors.concat(validate70.errors);
errors = vErrors.length;
}
}
else if(tag0 === "configuration_update"){
if(!(validate73(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate73.errors : vErrors.concat(validate73.errors);
errors = vErrors.length;
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "mapping", tag: "type", tagValue: tag0},message:"value of tag \"type\" must be in oneOf",schema:schema15.discriminator,parentSchema:schema15,data}];
return false;
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/discriminator",keyword:"discriminator",params:{error: "tag", tag: "type", tagValue: tag0},message:"tag \"type\" must be string",schema:schema15.discriminator,parentSchema:schema15,data}];
return false;
}
}
else {
validate13.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema15.type,parentSchema:schema15,data}];
return false;
}
}
validate13.errors = vErrors;
return errors === 0;
}


function validate12(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
const _errs0 = errors;
let valid0 = false;
const _errs1 = errors;
if(!(validate13(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate13.errors : vErrors.concat(validate13.errors);
errors = vErrors.length;
}
var _valid0 = _errs1 === errors;
valid0 = valid0 || _valid0;
if(!valid0){
const _errs2 = errors;
const _errs3 = errors;
if(errors === _errs3){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((data.type === undefined) && (missing0 = "type")){
const err0 = {instancePath,schemaPath:"#/$defs/UnknownItem/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema126.required,parentSchema:schema126,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs5 = errors;
const _errs7 = errors;
const _errs8 = errors;
if(!((((((((((((((((((((data0 === "message") || (data0 === "function_call")) || (data0 === "function_call_output")) || (data0 === "reasoning")) || (data0 === "item_reference")) || (data0 === "custom_tool_call")) || (data0 === "custom_tool_call_output")) || (data0 === "tool_search_call")) || (data0 === "tool_search_output")) || (data0 === "local_shell_call")) || (data0 === "local_shell_call_output")) || (data0 === "shell_call")) || (data0 === "shell_call_output")) || (data0 === "apply_patch_call")) || (data0 === "apply_patch_call_output")) || (data0 === "additional_tools")) || (data0 === "compaction")) || (data0 === "compaction_trigger")) || (data0 === "agent_message")) || (data0 === "configuration_update"))){
const err1 = {};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
var valid3 = _errs8 === errors;
if(valid3){
const err2 = {instancePath:instancePath+"/type",schemaPath:"#/$defs/UnknownItem/properties/type/not",keyword:"not",params:{},message:"must NOT be valid",schema:schema126.properties.type.not,parentSchema:schema126.properties.type,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
else {
errors = _errs7;
if(vErrors !== null){
if(_errs7){
vErrors.length = _errs7;
}
else {
vErrors = null;
}
}
}
if(errors === _errs5){
if(typeof data0 === "string"){
if(func2(data0) < 1){
const err3 = {instancePath:instancePath+"/type",schemaPath:"#/$defs/UnknownItem/properties/type/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema126.properties.type,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/type",schemaPath:"#/$defs/UnknownItem/properties/type/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema126.properties.type.type,parentSchema:schema126.properties.type,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
}
}
}
else {
const err5 = {instancePath,schemaPath:"#/$defs/UnknownItem/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema126.type,parentSchema:schema126,data};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
var _valid0 = _errs2 === errors;
valid0 = valid0 || _valid0;
}
if(!valid0){
const err6 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema14.anyOf,parentSchema:schema14,data};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
validate12.errors = vErrors;
return false;
}
else {
errors = _errs0;
if(vErrors !== null){
if(_errs0){
vErrors.length = _errs0;
}
else {
vErrors = null;
}
}
}
validate12.errors = vErrors;
return errors === 0;
}


function validate11(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if((typeof data !== "string") && (!(Array.isArray(data)))){
validate11.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: schema13.type},message:"must be string,array",schema:schema13.type,parentSchema:schema13,data}];
return false;
}
if(errors === 0){
if(Array.isArray(data)){
if(data.length > 10000){
validate11.errors = [{instancePath,schemaPath:"#/maxItems",keyword:"maxItems",params:{limit: 10000},message:"must NOT have more than 10000 items",schema:10000,parentSchema:schema13,data}];
return false;
}
else {
if(data.length < 1){
validate11.errors = [{instancePath,schemaPath:"#/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema13,data}];
return false;
}
else {
var valid0 = true;
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
const _errs1 = errors;
if(!(validate12(data[i0], {instancePath:instancePath+"/" + i0,parentData:data,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate12.errors : vErrors.concat(validate12.errors);
errors = vErrors.length;
}
var valid0 = _errs1 === errors;
if(!valid0){
break;
}
}
}
}
}
}
validate11.errors = vErrors;
return errors === 0;
}

const schema127 = {"type":["string","object"],"if":{"type":"string"},"then":{"enum":["none","auto","required"]},"else":{"type":"object","required":["type"],"properties":{"type":{"type":"string","minLength":1}},"allOf":[{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"function"}}},"then":{"$ref":"#/$defs/FunctionChoice"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"allowed_tools"}}},"then":{"$ref":"#/$defs/AllowedTools"}},{"if":{"type":"object","required":["type"],"properties":{"type":{"const":"custom"}}},"then":{"$ref":"#/$defs/CustomChoice"}}]},"tsType":"'none' | 'auto' | 'required' | FunctionChoice | CustomChoice | AllowedTools | HostedTool"};
const schema128 = {"type":"object","properties":{"type":{"const":"function"},"name":{"type":"string","minLength":1,"maxLength":256},"namespace":{"type":"string","minLength":1,"maxLength":256}},"required":["type","name"]};
const schema131 = {"type":"object","properties":{"type":{"const":"custom"},"name":{"type":"string","minLength":1,"maxLength":256},"namespace":{"type":"string","minLength":1,"maxLength":256}},"required":["type","name"]};
const schema129 = {"type":"object","properties":{"type":{"const":"allowed_tools"},"mode":{"enum":["auto","required"]},"tools":{"type":"array","items":{"$ref":"#/$defs/NamedTool"},"minItems":1,"maxItems":512}},"required":["type","tools"]};
const schema130 = {"type":"object","properties":{"type":{"type":"string","minLength":1},"name":{"type":"string","minLength":1},"namespace":{"type":"string","minLength":1}},"required":["type"]};

function validate93(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.type === undefined) && (missing0 = "type")) || ((data.tools === undefined) && (missing0 = "tools"))){
validate93.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema129.required,parentSchema:schema129,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("allowed_tools" !== data0){
validate93.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "allowed_tools"},message:"must be equal to constant",schema:"allowed_tools",parentSchema:schema129.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.mode !== undefined){
let data1 = data.mode;
const _errs2 = errors;
if(!((data1 === "auto") || (data1 === "required"))){
validate93.errors = [{instancePath:instancePath+"/mode",schemaPath:"#/properties/mode/enum",keyword:"enum",params:{allowedValues: schema129.properties.mode.enum},message:"must be equal to one of the allowed values",schema:schema129.properties.mode.enum,parentSchema:schema129.properties.mode,data:data1}];
return false;
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.tools !== undefined){
let data2 = data.tools;
const _errs3 = errors;
if(errors === _errs3){
if(Array.isArray(data2)){
if(data2.length > 512){
validate93.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/maxItems",keyword:"maxItems",params:{limit: 512},message:"must NOT have more than 512 items",schema:512,parentSchema:schema129.properties.tools,data:data2}];
return false;
}
else {
if(data2.length < 1){
validate93.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema129.properties.tools,data:data2}];
return false;
}
else {
var valid1 = true;
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
let data3 = data2[i0];
const _errs5 = errors;
const _errs6 = errors;
if(errors === _errs6){
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
let missing1;
if((data3.type === undefined) && (missing1 = "type")){
validate93.errors = [{instancePath:instancePath+"/tools/" + i0,schemaPath:"#/$defs/NamedTool/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema130.required,parentSchema:schema130,data:data3}];
return false;
}
else {
if(data3.type !== undefined){
let data4 = data3.type;
const _errs8 = errors;
if(errors === _errs8){
if(typeof data4 === "string"){
if(func2(data4) < 1){
validate93.errors = [{instancePath:instancePath+"/tools/" + i0+"/type",schemaPath:"#/$defs/NamedTool/properties/type/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema130.properties.type,data:data4}];
return false;
}
}
else {
validate93.errors = [{instancePath:instancePath+"/tools/" + i0+"/type",schemaPath:"#/$defs/NamedTool/properties/type/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema130.properties.type.type,parentSchema:schema130.properties.type,data:data4}];
return false;
}
}
var valid3 = _errs8 === errors;
}
else {
var valid3 = true;
}
if(valid3){
if(data3.name !== undefined){
let data5 = data3.name;
const _errs10 = errors;
if(errors === _errs10){
if(typeof data5 === "string"){
if(func2(data5) < 1){
validate93.errors = [{instancePath:instancePath+"/tools/" + i0+"/name",schemaPath:"#/$defs/NamedTool/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema130.properties.name,data:data5}];
return false;
}
}
else {
validate93.errors = [{instancePath:instancePath+"/tools/" + i0+"/name",schemaPath:"#/$defs/NamedTool/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema130.properties.name.type,parentSchema:schema130.properties.name,data:data5}];
return false;
}
}
var valid3 = _errs10 === errors;
}
else {
var valid3 = true;
}
if(valid3){
if(data3.namespace !== undefined){
let data6 = data3.namespace;
const _errs12 = errors;
if(errors === _errs12){
if(typeof data6 === "string"){
if(func2(data6) < 1){
validate93.errors = [{instancePath:instancePath+"/tools/" + i0+"/namespace",schemaPath:"#/$defs/NamedTool/properties/namespace/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema130.properties.namespace,data:data6}];
return false;
}
}
else {
validate93.errors = [{instancePath:instancePath+"/tools/" + i0+"/namespace",schemaPath:"#/$defs/NamedTool/properties/namespace/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema130.properties.namespace.type,parentSchema:schema130.properties.namespace,data:data6}];
return false;
}
}
var valid3 = _errs12 === errors;
}
else {
var valid3 = true;
}
}
}
}
}
else {
validate93.errors = [{instancePath:instancePath+"/tools/" + i0,schemaPath:"#/$defs/NamedTool/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema130.type,parentSchema:schema130,data:data3}];
return false;
}
}
var valid1 = _errs5 === errors;
if(!valid1){
break;
}
}
}
}
}
else {
validate93.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema129.properties.tools.type,parentSchema:schema129.properties.tools,data:data2}];
return false;
}
}
var valid0 = _errs3 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
else {
validate93.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema129.type,parentSchema:schema129,data}];
return false;
}
}
validate93.errors = vErrors;
return errors === 0;
}


function validate92(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if((typeof data !== "string") && (!(data && typeof data == "object" && !Array.isArray(data)))){
validate92.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: schema127.type},message:"must be string,object",schema:schema127.type,parentSchema:schema127,data}];
return false;
}
const _errs1 = errors;
let valid0 = true;
const _errs2 = errors;
if(typeof data !== "string"){
const err0 = {};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
var _valid0 = _errs2 === errors;
errors = _errs1;
if(vErrors !== null){
if(_errs1){
vErrors.length = _errs1;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs4 = errors;
if(!(((data === "none") || (data === "auto")) || (data === "required"))){
validate92.errors = [{instancePath,schemaPath:"#/then/enum",keyword:"enum",params:{allowedValues: schema127.then.enum},message:"must be equal to one of the allowed values",schema:schema127.then.enum,parentSchema:schema127.then,data}];
return false;
}
var _valid0 = _errs4 === errors;
valid0 = _valid0;
ifClause0 = "then";
}
else {
const _errs5 = errors;
const _errs7 = errors;
const _errs8 = errors;
let valid2 = true;
const _errs9 = errors;
if(errors === _errs9){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((data.type === undefined) && (missing0 = "type")){
const err1 = {};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
else {
if(data.type !== undefined){
if("function" !== data.type){
const err2 = {};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
}
}
else {
const err3 = {};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
var _valid1 = _errs9 === errors;
errors = _errs8;
if(vErrors !== null){
if(_errs8){
vErrors.length = _errs8;
}
else {
vErrors = null;
}
}
if(_valid1){
const _errs12 = errors;
const _errs13 = errors;
if(errors === _errs13){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing1;
if(((data.type === undefined) && (missing1 = "type")) || ((data.name === undefined) && (missing1 = "name"))){
validate92.errors = [{instancePath,schemaPath:"#/$defs/FunctionChoice/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema128.required,parentSchema:schema128,data}];
return false;
}
else {
if(data.type !== undefined){
let data1 = data.type;
const _errs15 = errors;
if("function" !== data1){
validate92.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/FunctionChoice/properties/type/const",keyword:"const",params:{allowedValue: "function"},message:"must be equal to constant",schema:"function",parentSchema:schema128.properties.type,data:data1}];
return false;
}
var valid5 = _errs15 === errors;
}
else {
var valid5 = true;
}
if(valid5){
if(data.name !== undefined){
let data2 = data.name;
const _errs16 = errors;
if(errors === _errs16){
if(typeof data2 === "string"){
if(func2(data2) > 256){
validate92.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/FunctionChoice/properties/name/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema128.properties.name,data:data2}];
return false;
}
else {
if(func2(data2) < 1){
validate92.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/FunctionChoice/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema128.properties.name,data:data2}];
return false;
}
}
}
else {
validate92.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/FunctionChoice/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema128.properties.name.type,parentSchema:schema128.properties.name,data:data2}];
return false;
}
}
var valid5 = _errs16 === errors;
}
else {
var valid5 = true;
}
if(valid5){
if(data.namespace !== undefined){
let data3 = data.namespace;
const _errs18 = errors;
if(errors === _errs18){
if(typeof data3 === "string"){
if(func2(data3) > 256){
validate92.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/FunctionChoice/properties/namespace/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema128.properties.namespace,data:data3}];
return false;
}
else {
if(func2(data3) < 1){
validate92.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/FunctionChoice/properties/namespace/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema128.properties.namespace,data:data3}];
return false;
}
}
}
else {
validate92.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/FunctionChoice/properties/namespace/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema128.properties.namespace.type,parentSchema:schema128.properties.namespace,data:data3}];
return false;
}
}
var valid5 = _errs18 === errors;
}
else {
var valid5 = true;
}
}
}
}
}
else {
validate92.errors = [{instancePath,schemaPath:"#/$defs/FunctionChoice/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema128.type,parentSchema:schema128,data}];
return false;
}
}
var _valid1 = _errs12 === errors;
valid2 = _valid1;
}
if(!valid2){
const err4 = {instancePath,schemaPath:"#/else/allOf/0/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema127.else.allOf[0].if,parentSchema:schema127.else.allOf[0],data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
validate92.errors = vErrors;
return false;
}
var valid1 = _errs7 === errors;
if(valid1){
const _errs20 = errors;
const _errs21 = errors;
let valid6 = true;
const _errs22 = errors;
if(errors === _errs22){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing2;
if((data.type === undefined) && (missing2 = "type")){
const err5 = {};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
else {
if(data.type !== undefined){
if("allowed_tools" !== data.type){
const err6 = {};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
}
else {
const err7 = {};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
var _valid2 = _errs22 === errors;
errors = _errs21;
if(vErrors !== null){
if(_errs21){
vErrors.length = _errs21;
}
else {
vErrors = null;
}
}
if(_valid2){
const _errs25 = errors;
if(!(validate93(data, {instancePath,parentData,parentDataProperty,rootData}))){
vErrors = vErrors === null ? validate93.errors : vErrors.concat(validate93.errors);
errors = vErrors.length;
}
var _valid2 = _errs25 === errors;
valid6 = _valid2;
}
if(!valid6){
const err8 = {instancePath,schemaPath:"#/else/allOf/1/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema127.else.allOf[1].if,parentSchema:schema127.else.allOf[1],data};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
validate92.errors = vErrors;
return false;
}
var valid1 = _errs20 === errors;
if(valid1){
const _errs26 = errors;
const _errs27 = errors;
let valid8 = true;
const _errs28 = errors;
if(errors === _errs28){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing3;
if((data.type === undefined) && (missing3 = "type")){
const err9 = {};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
else {
if(data.type !== undefined){
if("custom" !== data.type){
const err10 = {};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
}
}
else {
const err11 = {};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
var _valid3 = _errs28 === errors;
errors = _errs27;
if(vErrors !== null){
if(_errs27){
vErrors.length = _errs27;
}
else {
vErrors = null;
}
}
if(_valid3){
const _errs31 = errors;
const _errs32 = errors;
if(errors === _errs32){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing4;
if(((data.type === undefined) && (missing4 = "type")) || ((data.name === undefined) && (missing4 = "name"))){
validate92.errors = [{instancePath,schemaPath:"#/$defs/CustomChoice/required",keyword:"required",params:{missingProperty: missing4},message:"must have required property '"+missing4+"'",schema:schema131.required,parentSchema:schema131,data}];
return false;
}
else {
if(data.type !== undefined){
let data6 = data.type;
const _errs34 = errors;
if("custom" !== data6){
validate92.errors = [{instancePath:instancePath+"/type",schemaPath:"#/$defs/CustomChoice/properties/type/const",keyword:"const",params:{allowedValue: "custom"},message:"must be equal to constant",schema:"custom",parentSchema:schema131.properties.type,data:data6}];
return false;
}
var valid11 = _errs34 === errors;
}
else {
var valid11 = true;
}
if(valid11){
if(data.name !== undefined){
let data7 = data.name;
const _errs35 = errors;
if(errors === _errs35){
if(typeof data7 === "string"){
if(func2(data7) > 256){
validate92.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/CustomChoice/properties/name/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema131.properties.name,data:data7}];
return false;
}
else {
if(func2(data7) < 1){
validate92.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/CustomChoice/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema131.properties.name,data:data7}];
return false;
}
}
}
else {
validate92.errors = [{instancePath:instancePath+"/name",schemaPath:"#/$defs/CustomChoice/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema131.properties.name.type,parentSchema:schema131.properties.name,data:data7}];
return false;
}
}
var valid11 = _errs35 === errors;
}
else {
var valid11 = true;
}
if(valid11){
if(data.namespace !== undefined){
let data8 = data.namespace;
const _errs37 = errors;
if(errors === _errs37){
if(typeof data8 === "string"){
if(func2(data8) > 256){
validate92.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/CustomChoice/properties/namespace/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema131.properties.namespace,data:data8}];
return false;
}
else {
if(func2(data8) < 1){
validate92.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/CustomChoice/properties/namespace/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema131.properties.namespace,data:data8}];
return false;
}
}
}
else {
validate92.errors = [{instancePath:instancePath+"/namespace",schemaPath:"#/$defs/CustomChoice/properties/namespace/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema131.properties.namespace.type,parentSchema:schema131.properties.namespace,data:data8}];
return false;
}
}
var valid11 = _errs37 === errors;
}
else {
var valid11 = true;
}
}
}
}
}
else {
validate92.errors = [{instancePath,schemaPath:"#/$defs/CustomChoice/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema131.type,parentSchema:schema131,data}];
return false;
}
}
var _valid3 = _errs31 === errors;
valid8 = _valid3;
}
if(!valid8){
const err12 = {instancePath,schemaPath:"#/else/allOf/2/if",keyword:"if",params:{failingKeyword: "then"},message:"must match \"then\" schema",schema:schema127.else.allOf[2].if,parentSchema:schema127.else.allOf[2],data};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
validate92.errors = vErrors;
return false;
}
var valid1 = _errs26 === errors;
}
}
if(errors === _errs5){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing5;
if((data.type === undefined) && (missing5 = "type")){
validate92.errors = [{instancePath,schemaPath:"#/else/required",keyword:"required",params:{missingProperty: missing5},message:"must have required property '"+missing5+"'",schema:schema127.else.required,parentSchema:schema127.else,data}];
return false;
}
else {
if(data.type !== undefined){
let data9 = data.type;
const _errs39 = errors;
if(errors === _errs39){
if(typeof data9 === "string"){
if(func2(data9) < 1){
validate92.errors = [{instancePath:instancePath+"/type",schemaPath:"#/else/properties/type/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema127.else.properties.type,data:data9}];
return false;
}
}
else {
validate92.errors = [{instancePath:instancePath+"/type",schemaPath:"#/else/properties/type/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema127.else.properties.type.type,parentSchema:schema127.else.properties.type,data:data9}];
return false;
}
}
}
}
}
else {
validate92.errors = [{instancePath,schemaPath:"#/else/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema127.else.type,parentSchema:schema127.else,data}];
return false;
}
}
var _valid0 = _errs5 === errors;
valid0 = _valid0;
ifClause0 = "else";
}
if(!valid0){
const err13 = {instancePath,schemaPath:"#/if",keyword:"if",params:{failingKeyword: ifClause0},message:"must match \""+ifClause0+"\" schema",schema:schema127.if,parentSchema:schema127,data};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
validate92.errors = vErrors;
return false;
}
validate92.errors = vErrors;
return errors === 0;
}

const schema132 = {"type":"object","properties":{"effort":{"$ref":"#/$defs/ReasoningEffort"},"summary":{"enum":["auto","concise","detailed"]},"generate_summary":{"enum":["auto","concise","detailed"]}},"required":[]};

function validate97(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.effort !== undefined){
let data0 = data.effort;
const _errs1 = errors;
if(!(((((((data0 === "none") || (data0 === "minimal")) || (data0 === "low")) || (data0 === "medium")) || (data0 === "high")) || (data0 === "xhigh")) || (data0 === "max"))){
validate97.errors = [{instancePath:instancePath+"/effort",schemaPath:"#/$defs/ReasoningEffort/enum",keyword:"enum",params:{allowedValues: schema109.enum},message:"must be equal to one of the allowed values",schema:schema109.enum,parentSchema:schema109,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.summary !== undefined){
let data1 = data.summary;
const _errs3 = errors;
if(!(((data1 === "auto") || (data1 === "concise")) || (data1 === "detailed"))){
validate97.errors = [{instancePath:instancePath+"/summary",schemaPath:"#/properties/summary/enum",keyword:"enum",params:{allowedValues: schema132.properties.summary.enum},message:"must be equal to one of the allowed values",schema:schema132.properties.summary.enum,parentSchema:schema132.properties.summary,data:data1}];
return false;
}
var valid0 = _errs3 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.generate_summary !== undefined){
let data2 = data.generate_summary;
const _errs4 = errors;
if(!(((data2 === "auto") || (data2 === "concise")) || (data2 === "detailed"))){
validate97.errors = [{instancePath:instancePath+"/generate_summary",schemaPath:"#/properties/generate_summary/enum",keyword:"enum",params:{allowedValues: schema132.properties.generate_summary.enum},message:"must be equal to one of the allowed values",schema:schema132.properties.generate_summary.enum,parentSchema:schema132.properties.generate_summary,data:data2}];
return false;
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
}
}
}
else {
validate97.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema132.type,parentSchema:schema132,data}];
return false;
}
}
validate97.errors = vErrors;
return errors === 0;
}


function validate10(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
/*# sourceURL="create-response.json" */;
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.model === undefined) && (missing0 = "model")) || ((data.input === undefined) && (missing0 = "input"))){
validate10.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema11.required,parentSchema:schema11,data}];
return false;
}
else {
if(data.model !== undefined){
let data0 = data.model;
const _errs1 = errors;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data0 === "string"){
if(func2(data0) > 256){
validate10.errors = [{instancePath:instancePath+"/model",schemaPath:"#/$defs/ModelName/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema12,data:data0}];
return false;
}
else {
if(func2(data0) < 1){
validate10.errors = [{instancePath:instancePath+"/model",schemaPath:"#/$defs/ModelName/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema12,data:data0}];
return false;
}
else {
if(!pattern0.test(data0)){
validate10.errors = [{instancePath:instancePath+"/model",schemaPath:"#/$defs/ModelName/pattern",keyword:"pattern",params:{pattern: "^\\P{Cc}+$"},message:"must match pattern \""+"^\\P{Cc}+$"+"\"",schema:"^\\P{Cc}+$",parentSchema:schema12,data:data0}];
return false;
}
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/model",schemaPath:"#/$defs/ModelName/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema12.type,parentSchema:schema12,data:data0}];
return false;
}
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.input !== undefined){
const _errs4 = errors;
if(!(validate11(data.input, {instancePath:instancePath+"/input",parentData:data,parentDataProperty:"input",rootData}))){
vErrors = vErrors === null ? validate11.errors : vErrors.concat(validate11.errors);
errors = vErrors.length;
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.instructions !== undefined){
let data2 = data.instructions;
const _errs5 = errors;
if(typeof data2 !== "string"){
validate10.errors = [{instancePath:instancePath+"/instructions",schemaPath:"#/properties/instructions/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema11.properties.instructions.type,parentSchema:schema11.properties.instructions,data:data2}];
return false;
}
var valid0 = _errs5 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.tools !== undefined){
let data3 = data.tools;
const _errs7 = errors;
if(errors === _errs7){
if(Array.isArray(data3)){
if(data3.length > 512){
validate10.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/maxItems",keyword:"maxItems",params:{limit: 512},message:"must NOT have more than 512 items",schema:512,parentSchema:schema11.properties.tools,data:data3}];
return false;
}
else {
var valid2 = true;
const len0 = data3.length;
for(let i0=0; i0<len0; i0++){
const _errs9 = errors;
if(!(validate22(data3[i0], {instancePath:instancePath+"/tools/" + i0,parentData:data3,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate22.errors : vErrors.concat(validate22.errors);
errors = vErrors.length;
}
var valid2 = _errs9 === errors;
if(!valid2){
break;
}
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema11.properties.tools.type,parentSchema:schema11.properties.tools,data:data3}];
return false;
}
}
var valid0 = _errs7 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.tool_choice !== undefined){
const _errs10 = errors;
if(!(validate92(data.tool_choice, {instancePath:instancePath+"/tool_choice",parentData:data,parentDataProperty:"tool_choice",rootData}))){
vErrors = vErrors === null ? validate92.errors : vErrors.concat(validate92.errors);
errors = vErrors.length;
}
var valid0 = _errs10 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.parallel_tool_calls !== undefined){
let data6 = data.parallel_tool_calls;
const _errs11 = errors;
if(typeof data6 !== "boolean"){
validate10.errors = [{instancePath:instancePath+"/parallel_tool_calls",schemaPath:"#/properties/parallel_tool_calls/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema11.properties.parallel_tool_calls.type,parentSchema:schema11.properties.parallel_tool_calls,data:data6}];
return false;
}
var valid0 = _errs11 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.max_tool_calls !== undefined){
let data7 = data.max_tool_calls;
const _errs13 = errors;
if(!(((typeof data7 == "number") && (!(data7 % 1) && !isNaN(data7))) && (isFinite(data7)))){
validate10.errors = [{instancePath:instancePath+"/max_tool_calls",schemaPath:"#/properties/max_tool_calls/type",keyword:"type",params:{type: "integer"},message:"must be integer",schema:schema11.properties.max_tool_calls.type,parentSchema:schema11.properties.max_tool_calls,data:data7}];
return false;
}
if(errors === _errs13){
if((typeof data7 == "number") && (isFinite(data7))){
if(data7 < 1 || isNaN(data7)){
validate10.errors = [{instancePath:instancePath+"/max_tool_calls",schemaPath:"#/properties/max_tool_calls/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1",schema:1,parentSchema:schema11.properties.max_tool_calls,data:data7}];
return false;
}
}
}
var valid0 = _errs13 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.text !== undefined){
const _errs15 = errors;
if(!(validate74(data.text, {instancePath:instancePath+"/text",parentData:data,parentDataProperty:"text",rootData}))){
vErrors = vErrors === null ? validate74.errors : vErrors.concat(validate74.errors);
errors = vErrors.length;
}
var valid0 = _errs15 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.reasoning !== undefined){
const _errs16 = errors;
if(!(validate97(data.reasoning, {instancePath:instancePath+"/reasoning",parentData:data,parentDataProperty:"reasoning",rootData}))){
vErrors = vErrors === null ? validate97.errors : vErrors.concat(validate97.errors);
errors = vErrors.length;
}
var valid0 = _errs16 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.temperature !== undefined){
let data10 = data.temperature;
const _errs17 = errors;
if(errors === _errs17){
if((typeof data10 == "number") && (isFinite(data10))){
if(data10 > 2 || isNaN(data10)){
validate10.errors = [{instancePath:instancePath+"/temperature",schemaPath:"#/properties/temperature/maximum",keyword:"maximum",params:{comparison: "<=", limit: 2},message:"must be <= 2",schema:2,parentSchema:schema11.properties.temperature,data:data10}];
return false;
}
else {
if(data10 < 0 || isNaN(data10)){
validate10.errors = [{instancePath:instancePath+"/temperature",schemaPath:"#/properties/temperature/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0",schema:0,parentSchema:schema11.properties.temperature,data:data10}];
return false;
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/temperature",schemaPath:"#/properties/temperature/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema11.properties.temperature.type,parentSchema:schema11.properties.temperature,data:data10}];
return false;
}
}
var valid0 = _errs17 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.top_p !== undefined){
let data11 = data.top_p;
const _errs19 = errors;
if(errors === _errs19){
if((typeof data11 == "number") && (isFinite(data11))){
if(data11 > 1 || isNaN(data11)){
validate10.errors = [{instancePath:instancePath+"/top_p",schemaPath:"#/properties/top_p/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1},message:"must be <= 1",schema:1,parentSchema:schema11.properties.top_p,data:data11}];
return false;
}
else {
if(data11 < 0 || isNaN(data11)){
validate10.errors = [{instancePath:instancePath+"/top_p",schemaPath:"#/properties/top_p/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0",schema:0,parentSchema:schema11.properties.top_p,data:data11}];
return false;
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/top_p",schemaPath:"#/properties/top_p/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema11.properties.top_p.type,parentSchema:schema11.properties.top_p,data:data11}];
return false;
}
}
var valid0 = _errs19 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.presence_penalty !== undefined){
let data12 = data.presence_penalty;
const _errs21 = errors;
if(errors === _errs21){
if((typeof data12 == "number") && (isFinite(data12))){
if(data12 > 2 || isNaN(data12)){
validate10.errors = [{instancePath:instancePath+"/presence_penalty",schemaPath:"#/properties/presence_penalty/maximum",keyword:"maximum",params:{comparison: "<=", limit: 2},message:"must be <= 2",schema:2,parentSchema:schema11.properties.presence_penalty,data:data12}];
return false;
}
else {
if(data12 < -2 || isNaN(data12)){
validate10.errors = [{instancePath:instancePath+"/presence_penalty",schemaPath:"#/properties/presence_penalty/minimum",keyword:"minimum",params:{comparison: ">=", limit: -2},message:"must be >= -2",schema:-2,parentSchema:schema11.properties.presence_penalty,data:data12}];
return false;
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/presence_penalty",schemaPath:"#/properties/presence_penalty/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema11.properties.presence_penalty.type,parentSchema:schema11.properties.presence_penalty,data:data12}];
return false;
}
}
var valid0 = _errs21 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.frequency_penalty !== undefined){
let data13 = data.frequency_penalty;
const _errs23 = errors;
if(errors === _errs23){
if((typeof data13 == "number") && (isFinite(data13))){
if(data13 > 2 || isNaN(data13)){
validate10.errors = [{instancePath:instancePath+"/frequency_penalty",schemaPath:"#/properties/frequency_penalty/maximum",keyword:"maximum",params:{comparison: "<=", limit: 2},message:"must be <= 2",schema:2,parentSchema:schema11.properties.frequency_penalty,data:data13}];
return false;
}
else {
if(data13 < -2 || isNaN(data13)){
validate10.errors = [{instancePath:instancePath+"/frequency_penalty",schemaPath:"#/properties/frequency_penalty/minimum",keyword:"minimum",params:{comparison: ">=", limit: -2},message:"must be >= -2",schema:-2,parentSchema:schema11.properties.frequency_penalty,data:data13}];
return false;
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/frequency_penalty",schemaPath:"#/properties/frequency_penalty/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema11.properties.frequency_penalty.type,parentSchema:schema11.properties.frequency_penalty,data:data13}];
return false;
}
}
var valid0 = _errs23 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.top_logprobs !== undefined){
let data14 = data.top_logprobs;
const _errs25 = errors;
if(!(((typeof data14 == "number") && (!(data14 % 1) && !isNaN(data14))) && (isFinite(data14)))){
validate10.errors = [{instancePath:instancePath+"/top_logprobs",schemaPath:"#/properties/top_logprobs/type",keyword:"type",params:{type: "integer"},message:"must be integer",schema:schema11.properties.top_logprobs.type,parentSchema:schema11.properties.top_logprobs,data:data14}];
return false;
}
if(errors === _errs25){
if((typeof data14 == "number") && (isFinite(data14))){
if(data14 > 20 || isNaN(data14)){
validate10.errors = [{instancePath:instancePath+"/top_logprobs",schemaPath:"#/properties/top_logprobs/maximum",keyword:"maximum",params:{comparison: "<=", limit: 20},message:"must be <= 20",schema:20,parentSchema:schema11.properties.top_logprobs,data:data14}];
return false;
}
else {
if(data14 < 0 || isNaN(data14)){
validate10.errors = [{instancePath:instancePath+"/top_logprobs",schemaPath:"#/properties/top_logprobs/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0",schema:0,parentSchema:schema11.properties.top_logprobs,data:data14}];
return false;
}
}
}
}
var valid0 = _errs25 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.max_output_tokens !== undefined){
let data15 = data.max_output_tokens;
const _errs27 = errors;
if(!(((typeof data15 == "number") && (!(data15 % 1) && !isNaN(data15))) && (isFinite(data15)))){
validate10.errors = [{instancePath:instancePath+"/max_output_tokens",schemaPath:"#/properties/max_output_tokens/type",keyword:"type",params:{type: "integer"},message:"must be integer",schema:schema11.properties.max_output_tokens.type,parentSchema:schema11.properties.max_output_tokens,data:data15}];
return false;
}
if(errors === _errs27){
if((typeof data15 == "number") && (isFinite(data15))){
if(data15 > 2147483647 || isNaN(data15)){
validate10.errors = [{instancePath:instancePath+"/max_output_tokens",schemaPath:"#/properties/max_output_tokens/maximum",keyword:"maximum",params:{comparison: "<=", limit: 2147483647},message:"must be <= 2147483647",schema:2147483647,parentSchema:schema11.properties.max_output_tokens,data:data15}];
return false;
}
else {
if(data15 < 1 || isNaN(data15)){
validate10.errors = [{instancePath:instancePath+"/max_output_tokens",schemaPath:"#/properties/max_output_tokens/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1",schema:1,parentSchema:schema11.properties.max_output_tokens,data:data15}];
return false;
}
}
}
}
var valid0 = _errs27 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.include !== undefined){
let data16 = data.include;
const _errs29 = errors;
if(errors === _errs29){
if(Array.isArray(data16)){
if(data16.length > 16){
validate10.errors = [{instancePath:instancePath+"/include",schemaPath:"#/properties/include/maxItems",keyword:"maxItems",params:{limit: 16},message:"must NOT have more than 16 items",schema:16,parentSchema:schema11.properties.include,data:data16}];
return false;
}
else {
var valid3 = true;
const len1 = data16.length;
for(let i1=0; i1<len1; i1++){
let data17 = data16[i1];
const _errs31 = errors;
const _errs32 = errors;
if(errors === _errs32){
if(typeof data17 === "string"){
if(func2(data17) > 256){
validate10.errors = [{instancePath:instancePath+"/include/" + i1,schemaPath:"#/$defs/Include/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema134,data:data17}];
return false;
}
}
else {
validate10.errors = [{instancePath:instancePath+"/include/" + i1,schemaPath:"#/$defs/Include/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema134.type,parentSchema:schema134,data:data17}];
return false;
}
}
var valid3 = _errs31 === errors;
if(!valid3){
break;
}
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/include",schemaPath:"#/properties/include/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema11.properties.include.type,parentSchema:schema11.properties.include,data:data16}];
return false;
}
}
var valid0 = _errs29 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.stream !== undefined){
let data18 = data.stream;
const _errs34 = errors;
if(typeof data18 !== "boolean"){
validate10.errors = [{instancePath:instancePath+"/stream",schemaPath:"#/properties/stream/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema11.properties.stream.type,parentSchema:schema11.properties.stream,data:data18}];
return false;
}
var valid0 = _errs34 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.stream_options !== undefined){
let data19 = data.stream_options;
const _errs36 = errors;
if(errors === _errs36){
if(data19 && typeof data19 == "object" && !Array.isArray(data19)){
if(data19.include_obfuscation !== undefined){
let data20 = data19.include_obfuscation;
if(typeof data20 !== "boolean"){
validate10.errors = [{instancePath:instancePath+"/stream_options/include_obfuscation",schemaPath:"#/properties/stream_options/properties/include_obfuscation/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema11.properties.stream_options.properties.include_obfuscation.type,parentSchema:schema11.properties.stream_options.properties.include_obfuscation,data:data20}];
return false;
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/stream_options",schemaPath:"#/properties/stream_options/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema11.properties.stream_options.type,parentSchema:schema11.properties.stream_options,data:data19}];
return false;
}
}
var valid0 = _errs36 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.store !== undefined){
let data21 = data.store;
const _errs40 = errors;
if(typeof data21 !== "boolean"){
validate10.errors = [{instancePath:instancePath+"/store",schemaPath:"#/properties/store/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema11.properties.store.type,parentSchema:schema11.properties.store,data:data21}];
return false;
}
var valid0 = _errs40 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.background !== undefined){
let data22 = data.background;
const _errs42 = errors;
if(typeof data22 !== "boolean"){
validate10.errors = [{instancePath:instancePath+"/background",schemaPath:"#/properties/background/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema11.properties.background.type,parentSchema:schema11.properties.background,data:data22}];
return false;
}
var valid0 = _errs42 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.truncation !== undefined){
let data23 = data.truncation;
const _errs44 = errors;
if(!((data23 === "auto") || (data23 === "disabled"))){
validate10.errors = [{instancePath:instancePath+"/truncation",schemaPath:"#/properties/truncation/enum",keyword:"enum",params:{allowedValues: schema11.properties.truncation.enum},message:"must be equal to one of the allowed values",schema:schema11.properties.truncation.enum,parentSchema:schema11.properties.truncation,data:data23}];
return false;
}
var valid0 = _errs44 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.service_tier !== undefined){
let data24 = data.service_tier;
const _errs45 = errors;
if(errors === _errs45){
if(typeof data24 === "string"){
if(func2(data24) > 64){
validate10.errors = [{instancePath:instancePath+"/service_tier",schemaPath:"#/properties/service_tier/maxLength",keyword:"maxLength",params:{limit: 64},message:"must NOT have more than 64 characters",schema:64,parentSchema:schema11.properties.service_tier,data:data24}];
return false;
}
}
else {
validate10.errors = [{instancePath:instancePath+"/service_tier",schemaPath:"#/properties/service_tier/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema11.properties.service_tier.type,parentSchema:schema11.properties.service_tier,data:data24}];
return false;
}
}
var valid0 = _errs45 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.metadata !== undefined){
let data25 = data.metadata;
const _errs47 = errors;
if(errors === _errs47){
if(data25 && typeof data25 == "object" && !Array.isArray(data25)){
if(Object.keys(data25).length > 16){
validate10.errors = [{instancePath:instancePath+"/metadata",schemaPath:"#/properties/metadata/maxProperties",keyword:"maxProperties",params:{limit: 16},message:"must NOT have more than 16 properties",schema:16,parentSchema:schema11.properties.metadata,data:data25}];
return false;
}
else {
for(const key0 in data25){
const _errs49 = errors;
if(typeof key0 === "string"){
if(func2(key0) > 64){
const err0 = {instancePath:instancePath+"/metadata",schemaPath:"#/properties/metadata/propertyNames/maxLength",keyword:"maxLength",params:{limit: 64},message:"must NOT have more than 64 characters",schema:64,parentSchema:schema11.properties.metadata.propertyNames,data:key0,propertyName:key0};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
var valid6 = _errs49 === errors;
if(!valid6){
const err1 = {instancePath:instancePath+"/metadata",schemaPath:"#/properties/metadata/propertyNames",keyword:"propertyNames",params:{propertyName: key0},message:"property name must be valid",schema:schema11.properties.metadata.propertyNames,parentSchema:schema11.properties.metadata,data:data25};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
validate10.errors = vErrors;
return false;
break;
}
}
if(valid6){
for(const key1 in data25){
let data26 = data25[key1];
const _errs51 = errors;
if(errors === _errs51){
if(typeof data26 === "string"){
if(func2(data26) > 512){
validate10.errors = [{instancePath:instancePath+"/metadata/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/metadata/additionalProperties/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters",schema:512,parentSchema:schema11.properties.metadata.additionalProperties,data:data26}];
return false;
}
}
else {
validate10.errors = [{instancePath:instancePath+"/metadata/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/metadata/additionalProperties/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema11.properties.metadata.additionalProperties.type,parentSchema:schema11.properties.metadata.additionalProperties,data:data26}];
return false;
}
}
var valid7 = _errs51 === errors;
if(!valid7){
break;
}
}
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/metadata",schemaPath:"#/properties/metadata/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema11.properties.metadata.type,parentSchema:schema11.properties.metadata,data:data25}];
return false;
}
}
var valid0 = _errs47 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.user !== undefined){
let data27 = data.user;
const _errs53 = errors;
if(errors === _errs53){
if(typeof data27 === "string"){
if(func2(data27) > 512){
validate10.errors = [{instancePath:instancePath+"/user",schemaPath:"#/properties/user/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters",schema:512,parentSchema:schema11.properties.user,data:data27}];
return false;
}
}
else {
validate10.errors = [{instancePath:instancePath+"/user",schemaPath:"#/properties/user/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema11.properties.user.type,parentSchema:schema11.properties.user,data:data27}];
return false;
}
}
var valid0 = _errs53 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.safety_identifier !== undefined){
let data28 = data.safety_identifier;
const _errs55 = errors;
if(errors === _errs55){
if(typeof data28 === "string"){
if(func2(data28) > 512){
validate10.errors = [{instancePath:instancePath+"/safety_identifier",schemaPath:"#/properties/safety_identifier/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters",schema:512,parentSchema:schema11.properties.safety_identifier,data:data28}];
return false;
}
}
else {
validate10.errors = [{instancePath:instancePath+"/safety_identifier",schemaPath:"#/properties/safety_identifier/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema11.properties.safety_identifier.type,parentSchema:schema11.properties.safety_identifier,data:data28}];
return false;
}
}
var valid0 = _errs55 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.prompt_cache_key !== undefined){
let data29 = data.prompt_cache_key;
const _errs57 = errors;
if(errors === _errs57){
if(typeof data29 === "string"){
if(func2(data29) > 512){
validate10.errors = [{instancePath:instancePath+"/prompt_cache_key",schemaPath:"#/properties/prompt_cache_key/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters",schema:512,parentSchema:schema11.properties.prompt_cache_key,data:data29}];
return false;
}
}
else {
validate10.errors = [{instancePath:instancePath+"/prompt_cache_key",schemaPath:"#/properties/prompt_cache_key/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema11.properties.prompt_cache_key.type,parentSchema:schema11.properties.prompt_cache_key,data:data29}];
return false;
}
}
var valid0 = _errs57 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.context_management !== undefined){
let data30 = data.context_management;
const _errs59 = errors;
if(errors === _errs59){
if(Array.isArray(data30)){
if(data30.length > 16){
validate10.errors = [{instancePath:instancePath+"/context_management",schemaPath:"#/properties/context_management/maxItems",keyword:"maxItems",params:{limit: 16},message:"must NOT have more than 16 items",schema:16,parentSchema:schema11.properties.context_management,data:data30}];
return false;
}
else {
var valid8 = true;
const len2 = data30.length;
for(let i2=0; i2<len2; i2++){
let data31 = data30[i2];
const _errs61 = errors;
const _errs62 = errors;
if(errors === _errs62){
if(data31 && typeof data31 == "object" && !Array.isArray(data31)){
let missing1;
if((data31.type === undefined) && (missing1 = "type")){
validate10.errors = [{instancePath:instancePath+"/context_management/" + i2,schemaPath:"#/$defs/ContextManagement/required",keyword:"required",params:{missingProperty: missing1},message:"must have required property '"+missing1+"'",schema:schema135.required,parentSchema:schema135,data:data31}];
return false;
}
else {
if(data31.type !== undefined){
let data32 = data31.type;
const _errs64 = errors;
if(errors === _errs64){
if(typeof data32 === "string"){
if(func2(data32) > 64){
validate10.errors = [{instancePath:instancePath+"/context_management/" + i2+"/type",schemaPath:"#/$defs/ContextManagement/properties/type/maxLength",keyword:"maxLength",params:{limit: 64},message:"must NOT have more than 64 characters",schema:64,parentSchema:schema135.properties.type,data:data32}];
return false;
}
}
else {
validate10.errors = [{instancePath:instancePath+"/context_management/" + i2+"/type",schemaPath:"#/$defs/ContextManagement/properties/type/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema135.properties.type.type,parentSchema:schema135.properties.type,data:data32}];
return false;
}
}
var valid10 = _errs64 === errors;
}
else {
var valid10 = true;
}
if(valid10){
if(data31.compact_threshold !== undefined){
let data33 = data31.compact_threshold;
const _errs66 = errors;
if(!(((typeof data33 == "number") && (!(data33 % 1) && !isNaN(data33))) && (isFinite(data33)))){
validate10.errors = [{instancePath:instancePath+"/context_management/" + i2+"/compact_threshold",schemaPath:"#/$defs/ContextManagement/properties/compact_threshold/type",keyword:"type",params:{type: "integer"},message:"must be integer",schema:schema135.properties.compact_threshold.type,parentSchema:schema135.properties.compact_threshold,data:data33}];
return false;
}
if(errors === _errs66){
if((typeof data33 == "number") && (isFinite(data33))){
if(data33 < 1 || isNaN(data33)){
validate10.errors = [{instancePath:instancePath+"/context_management/" + i2+"/compact_threshold",schemaPath:"#/$defs/ContextManagement/properties/compact_threshold/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1",schema:1,parentSchema:schema135.properties.compact_threshold,data:data33}];
return false;
}
}
}
var valid10 = _errs66 === errors;
}
else {
var valid10 = true;
}
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/context_management/" + i2,schemaPath:"#/$defs/ContextManagement/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema135.type,parentSchema:schema135,data:data31}];
return false;
}
}
var valid8 = _errs61 === errors;
if(!valid8){
break;
}
}
}
}
else {
validate10.errors = [{instancePath:instancePath+"/context_management",schemaPath:"#/properties/context_management/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema11.properties.context_management.type,parentSchema:schema11.properties.context_management,data:data30}];
return false;
}
}
var valid0 = _errs59 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.previous_response_id !== undefined){
let data34 = data.previous_response_id;
const _errs68 = errors;
if(typeof data34 !== "string"){
validate10.errors = [{instancePath:instancePath+"/previous_response_id",schemaPath:"#/properties/previous_response_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema11.properties.previous_response_id.type,parentSchema:schema11.properties.previous_response_id,data:data34}];
return false;
}
var valid0 = _errs68 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
else {
validate10.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema11.type,parentSchema:schema11,data}];
return false;
}
}
validate10.errors = vErrors;
return errors === 0;
}

export const isWebSocketCreate = validate99;
const schema136 = {"$schema":"http://json-schema.org/draft-07/schema#","$id":"web-socket-create.json","title":"WebSocketCreate","description":"A frame that asks for a response over a WebSocket: all fields of CreateResponse, and these. A null means absent.","type":"object","properties":{"type":{"const":"response.create"},"generate":{"type":"boolean","description":"false warms up: the model is not asked, and the next frame can continue from here."},"previous_response_id":{"type":"string","description":"The latest response of this connection; input then holds only what is new."},"idempotency_key":{"type":"string","description":"The counterpart of the Idempotency-Key header over HTTP: 1 to 255 printable ASCII characters."},"stream":{"const":true,"description":"Not needed: every response comes as events."}},"required":["type"]};

function validate99(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
/*# sourceURL="web-socket-create.json" */;
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((data.type === undefined) && (missing0 = "type")){
validate99.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema136.required,parentSchema:schema136,data}];
return false;
}
else {
if(data.type !== undefined){
let data0 = data.type;
const _errs1 = errors;
if("response.create" !== data0){
validate99.errors = [{instancePath:instancePath+"/type",schemaPath:"#/properties/type/const",keyword:"const",params:{allowedValue: "response.create"},message:"must be equal to constant",schema:"response.create",parentSchema:schema136.properties.type,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.generate !== undefined){
let data1 = data.generate;
const _errs2 = errors;
if(typeof data1 !== "boolean"){
validate99.errors = [{instancePath:instancePath+"/generate",schemaPath:"#/properties/generate/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema136.properties.generate.type,parentSchema:schema136.properties.generate,data:data1}];
return false;
}
var valid0 = _errs2 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.previous_response_id !== undefined){
let data2 = data.previous_response_id;
const _errs4 = errors;
if(typeof data2 !== "string"){
validate99.errors = [{instancePath:instancePath+"/previous_response_id",schemaPath:"#/properties/previous_response_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema136.properties.previous_response_id.type,parentSchema:schema136.properties.previous_response_id,data:data2}];
return false;
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.idempotency_key !== undefined){
let data3 = data.idempotency_key;
const _errs6 = errors;
if(typeof data3 !== "string"){
validate99.errors = [{instancePath:instancePath+"/idempotency_key",schemaPath:"#/properties/idempotency_key/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema136.properties.idempotency_key.type,parentSchema:schema136.properties.idempotency_key,data:data3}];
return false;
}
var valid0 = _errs6 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.stream !== undefined){
let data4 = data.stream;
const _errs8 = errors;
if(true !== data4){
validate99.errors = [{instancePath:instancePath+"/stream",schemaPath:"#/properties/stream/const",keyword:"const",params:{allowedValue: true},message:"must be equal to constant",schema:true,parentSchema:schema136.properties.stream,data:data4}];
return false;
}
var valid0 = _errs8 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
else {
validate99.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema136.type,parentSchema:schema136,data}];
return false;
}
}
validate99.errors = vErrors;
return errors === 0;
}

export const isCompactResponse = validate100;
const schema137 = {"$schema":"http://json-schema.org/draft-07/schema#","$id":"compact-response.json","title":"CompactResponse","description":"What POST /api/v1/responses/compact takes. A null anywhere in it means absent; unknown fields are ignored.","type":"object","properties":{"model":{"$ref":"create-response.json#/$defs/ModelName"},"input":{"$ref":"create-response.json#/$defs/ResponseInput"},"instructions":{"type":"string"},"reasoning":{"$ref":"create-response.json#/$defs/ReasoningParam"},"service_tier":{"type":"string","maxLength":64},"prompt_cache_key":{"type":"string","maxLength":512},"previous_response_id":{"type":"string"}},"required":["model","input"]};

function validate101(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if((typeof data !== "string") && (!(Array.isArray(data)))){
validate101.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: schema13.type},message:"must be string,array",schema:schema13.type,parentSchema:schema13,data}];
return false;
}
if(errors === 0){
if(Array.isArray(data)){
if(data.length > 10000){
validate101.errors = [{instancePath,schemaPath:"#/maxItems",keyword:"maxItems",params:{limit: 10000},message:"must NOT have more than 10000 items",schema:10000,parentSchema:schema13,data}];
return false;
}
else {
if(data.length < 1){
validate101.errors = [{instancePath,schemaPath:"#/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema13,data}];
return false;
}
else {
var valid0 = true;
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
const _errs1 = errors;
if(!(validate12(data[i0], {instancePath:instancePath+"/" + i0,parentData:data,parentDataProperty:i0,rootData}))){
vErrors = vErrors === null ? validate12.errors : vErrors.concat(validate12.errors);
errors = vErrors.length;
}
var valid0 = _errs1 === errors;
if(!valid0){
break;
}
}
}
}
}
}
validate101.errors = vErrors;
return errors === 0;
}


function validate104(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.effort !== undefined){
let data0 = data.effort;
const _errs1 = errors;
if(!(((((((data0 === "none") || (data0 === "minimal")) || (data0 === "low")) || (data0 === "medium")) || (data0 === "high")) || (data0 === "xhigh")) || (data0 === "max"))){
validate104.errors = [{instancePath:instancePath+"/effort",schemaPath:"#/$defs/ReasoningEffort/enum",keyword:"enum",params:{allowedValues: schema109.enum},message:"must be equal to one of the allowed values",schema:schema109.enum,parentSchema:schema109,data:data0}];
return false;
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.summary !== undefined){
let data1 = data.summary;
const _errs3 = errors;
if(!(((data1 === "auto") || (data1 === "concise")) || (data1 === "detailed"))){
validate104.errors = [{instancePath:instancePath+"/summary",schemaPath:"#/properties/summary/enum",keyword:"enum",params:{allowedValues: schema132.properties.summary.enum},message:"must be equal to one of the allowed values",schema:schema132.properties.summary.enum,parentSchema:schema132.properties.summary,data:data1}];
return false;
}
var valid0 = _errs3 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.generate_summary !== undefined){
let data2 = data.generate_summary;
const _errs4 = errors;
if(!(((data2 === "auto") || (data2 === "concise")) || (data2 === "detailed"))){
validate104.errors = [{instancePath:instancePath+"/generate_summary",schemaPath:"#/properties/generate_summary/enum",keyword:"enum",params:{allowedValues: schema132.properties.generate_summary.enum},message:"must be equal to one of the allowed values",schema:schema132.properties.generate_summary.enum,parentSchema:schema132.properties.generate_summary,data:data2}];
return false;
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
}
}
}
else {
validate104.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema132.type,parentSchema:schema132,data}];
return false;
}
}
validate104.errors = vErrors;
return errors === 0;
}


function validate100(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
/*# sourceURL="compact-response.json" */;
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if(((data.model === undefined) && (missing0 = "model")) || ((data.input === undefined) && (missing0 = "input"))){
validate100.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema137.required,parentSchema:schema137,data}];
return false;
}
else {
if(data.model !== undefined){
let data0 = data.model;
const _errs1 = errors;
const _errs2 = errors;
if(errors === _errs2){
if(typeof data0 === "string"){
if(func2(data0) > 256){
validate100.errors = [{instancePath:instancePath+"/model",schemaPath:"create-response.json#/$defs/ModelName/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema12,data:data0}];
return false;
}
else {
if(func2(data0) < 1){
validate100.errors = [{instancePath:instancePath+"/model",schemaPath:"create-response.json#/$defs/ModelName/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema12,data:data0}];
return false;
}
else {
if(!pattern0.test(data0)){
validate100.errors = [{instancePath:instancePath+"/model",schemaPath:"create-response.json#/$defs/ModelName/pattern",keyword:"pattern",params:{pattern: "^\\P{Cc}+$"},message:"must match pattern \""+"^\\P{Cc}+$"+"\"",schema:"^\\P{Cc}+$",parentSchema:schema12,data:data0}];
return false;
}
}
}
}
else {
validate100.errors = [{instancePath:instancePath+"/model",schemaPath:"create-response.json#/$defs/ModelName/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema12.type,parentSchema:schema12,data:data0}];
return false;
}
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.input !== undefined){
const _errs4 = errors;
if(!(validate101(data.input, {instancePath:instancePath+"/input",parentData:data,parentDataProperty:"input",rootData}))){
vErrors = vErrors === null ? validate101.errors : vErrors.concat(validate101.errors);
errors = vErrors.length;
}
var valid0 = _errs4 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.instructions !== undefined){
let data2 = data.instructions;
const _errs5 = errors;
if(typeof data2 !== "string"){
validate100.errors = [{instancePath:instancePath+"/instructions",schemaPath:"#/properties/instructions/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema137.properties.instructions.type,parentSchema:schema137.properties.instructions,data:data2}];
return false;
}
var valid0 = _errs5 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.reasoning !== undefined){
const _errs7 = errors;
if(!(validate104(data.reasoning, {instancePath:instancePath+"/reasoning",parentData:data,parentDataProperty:"reasoning",rootData}))){
vErrors = vErrors === null ? validate104.errors : vErrors.concat(validate104.errors);
errors = vErrors.length;
}
var valid0 = _errs7 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.service_tier !== undefined){
let data4 = data.service_tier;
const _errs8 = errors;
if(errors === _errs8){
if(typeof data4 === "string"){
if(func2(data4) > 64){
validate100.errors = [{instancePath:instancePath+"/service_tier",schemaPath:"#/properties/service_tier/maxLength",keyword:"maxLength",params:{limit: 64},message:"must NOT have more than 64 characters",schema:64,parentSchema:schema137.properties.service_tier,data:data4}];
return false;
}
}
else {
validate100.errors = [{instancePath:instancePath+"/service_tier",schemaPath:"#/properties/service_tier/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema137.properties.service_tier.type,parentSchema:schema137.properties.service_tier,data:data4}];
return false;
}
}
var valid0 = _errs8 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.prompt_cache_key !== undefined){
let data5 = data.prompt_cache_key;
const _errs10 = errors;
if(errors === _errs10){
if(typeof data5 === "string"){
if(func2(data5) > 512){
validate100.errors = [{instancePath:instancePath+"/prompt_cache_key",schemaPath:"#/properties/prompt_cache_key/maxLength",keyword:"maxLength",params:{limit: 512},message:"must NOT have more than 512 characters",schema:512,parentSchema:schema137.properties.prompt_cache_key,data:data5}];
return false;
}
}
else {
validate100.errors = [{instancePath:instancePath+"/prompt_cache_key",schemaPath:"#/properties/prompt_cache_key/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema137.properties.prompt_cache_key.type,parentSchema:schema137.properties.prompt_cache_key,data:data5}];
return false;
}
}
var valid0 = _errs10 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.previous_response_id !== undefined){
let data6 = data.previous_response_id;
const _errs12 = errors;
if(typeof data6 !== "string"){
validate100.errors = [{instancePath:instancePath+"/previous_response_id",schemaPath:"#/properties/previous_response_id/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema137.properties.previous_response_id.type,parentSchema:schema137.properties.previous_response_id,data:data6}];
return false;
}
var valid0 = _errs12 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
}
}
else {
validate100.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema137.type,parentSchema:schema137,data}];
return false;
}
}
validate100.errors = vErrors;
return errors === 0;
}

export const isCreateChatCompletion = validate106;
const schema142 = {"$schema":"http://json-schema.org/draft-07/schema#","$id":"create-chat-completion.json","title":"CreateChatCompletion","description":"The fields of POST /v1/chat/completions that the gateway reads to count usage. The backend checks all others.","type":"object","properties":{"model":{"type":"string","minLength":1,"maxLength":256,"pattern":"^\\P{Cc}+$","description":"1 to 256 printable characters."},"messages":{"tsType":"unknown"},"stream":{"type":["boolean","null"]},"stream_options":{"type":["object","null"],"properties":{"include_usage":{"type":["boolean","null"]}}},"n":{"type":["integer","null"],"minimum":1,"maximum":128},"max_tokens":{"type":["integer","null"],"description":"Some clients write -1 for no limit. For a key with credits, a spend limit or tokens per minute, no limit means DEFAULT_MAX_OUTPUT_TOKENS, and all of a limit is reserved."},"max_completion_tokens":{"type":["integer","null"],"description":"When both limits are given, the larger one counts."},"service_tier":{"tsType":"unknown"}},"required":["model"]};

function validate106(data, {instancePath="", parentData, parentDataProperty, rootData=data}={}){
/*# sourceURL="create-chat-completion.json" */;
let vErrors = null;
let errors = 0;
if(errors === 0){
if(data && typeof data == "object" && !Array.isArray(data)){
let missing0;
if((data.model === undefined) && (missing0 = "model")){
validate106.errors = [{instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: missing0},message:"must have required property '"+missing0+"'",schema:schema142.required,parentSchema:schema142,data}];
return false;
}
else {
if(data.model !== undefined){
let data0 = data.model;
const _errs1 = errors;
if(errors === _errs1){
if(typeof data0 === "string"){
if(func2(data0) > 256){
validate106.errors = [{instancePath:instancePath+"/model",schemaPath:"#/properties/model/maxLength",keyword:"maxLength",params:{limit: 256},message:"must NOT have more than 256 characters",schema:256,parentSchema:schema142.properties.model,data:data0}];
return false;
}
else {
if(func2(data0) < 1){
validate106.errors = [{instancePath:instancePath+"/model",schemaPath:"#/properties/model/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema142.properties.model,data:data0}];
return false;
}
else {
if(!pattern0.test(data0)){
validate106.errors = [{instancePath:instancePath+"/model",schemaPath:"#/properties/model/pattern",keyword:"pattern",params:{pattern: "^\\P{Cc}+$"},message:"must match pattern \""+"^\\P{Cc}+$"+"\"",schema:"^\\P{Cc}+$",parentSchema:schema142.properties.model,data:data0}];
return false;
}
}
}
}
else {
validate106.errors = [{instancePath:instancePath+"/model",schemaPath:"#/properties/model/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema142.properties.model.type,parentSchema:schema142.properties.model,data:data0}];
return false;
}
}
var valid0 = _errs1 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.stream !== undefined){
let data1 = data.stream;
const _errs3 = errors;
if((typeof data1 !== "boolean") && (data1 !== null)){
validate106.errors = [{instancePath:instancePath+"/stream",schemaPath:"#/properties/stream/type",keyword:"type",params:{type: schema142.properties.stream.type},message:"must be boolean,null",schema:schema142.properties.stream.type,parentSchema:schema142.properties.stream,data:data1}];
return false;
}
var valid0 = _errs3 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.stream_options !== undefined){
let data2 = data.stream_options;
const _errs5 = errors;
if((!(data2 && typeof data2 == "object" && !Array.isArray(data2))) && (data2 !== null)){
validate106.errors = [{instancePath:instancePath+"/stream_options",schemaPath:"#/properties/stream_options/type",keyword:"type",params:{type: schema142.properties.stream_options.type},message:"must be object,null",schema:schema142.properties.stream_options.type,parentSchema:schema142.properties.stream_options,data:data2}];
return false;
}
if(errors === _errs5){
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
if(data2.include_usage !== undefined){
let data3 = data2.include_usage;
if((typeof data3 !== "boolean") && (data3 !== null)){
validate106.errors = [{instancePath:instancePath+"/stream_options/include_usage",schemaPath:"#/properties/stream_options/properties/include_usage/type",keyword:"type",params:{type: schema142.properties.stream_options.properties.include_usage.type},message:"must be boolean,null",schema:schema142.properties.stream_options.properties.include_usage.type,parentSchema:schema142.properties.stream_options.properties.include_usage,data:data3}];
return false;
}
}
}
}
var valid0 = _errs5 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.n !== undefined){
let data4 = data.n;
const _errs9 = errors;
if((!(((typeof data4 == "number") && (!(data4 % 1) && !isNaN(data4))) && (isFinite(data4)))) && (data4 !== null)){
validate106.errors = [{instancePath:instancePath+"/n",schemaPath:"#/properties/n/type",keyword:"type",params:{type: schema142.properties.n.type},message:"must be integer,null",schema:schema142.properties.n.type,parentSchema:schema142.properties.n,data:data4}];
return false;
}
if(errors === _errs9){
if((typeof data4 == "number") && (isFinite(data4))){
if(data4 > 128 || isNaN(data4)){
validate106.errors = [{instancePath:instancePath+"/n",schemaPath:"#/properties/n/maximum",keyword:"maximum",params:{comparison: "<=", limit: 128},message:"must be <= 128",schema:128,parentSchema:schema142.properties.n,data:data4}];
return false;
}
else {
if(data4 < 1 || isNaN(data4)){
validate106.errors = [{instancePath:instancePath+"/n",schemaPath:"#/properties/n/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1",schema:1,parentSchema:schema142.properties.n,data:data4}];
return false;
}
}
}
}
var valid0 = _errs9 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.max_tokens !== undefined){
let data5 = data.max_tokens;
const _errs11 = errors;
if((!(((typeof data5 == "number") && (!(data5 % 1) && !isNaN(data5))) && (isFinite(data5)))) && (data5 !== null)){
validate106.errors = [{instancePath:instancePath+"/max_tokens",schemaPath:"#/properties/max_tokens/type",keyword:"type",params:{type: schema142.properties.max_tokens.type},message:"must be integer,null",schema:schema142.properties.max_tokens.type,parentSchema:schema142.properties.max_tokens,data:data5}];
return false;
}
var valid0 = _errs11 === errors;
}
else {
var valid0 = true;
}
if(valid0){
if(data.max_completion_tokens !== undefined){
let data6 = data.max_completion_tokens;
const _errs13 = errors;
if((!(((typeof data6 == "number") && (!(data6 % 1) && !isNaN(data6))) && (isFinite(data6)))) && (data6 !== null)){
validate106.errors = [{instancePath:instancePath+"/max_completion_tokens",schemaPath:"#/properties/max_completion_tokens/type",keyword:"type",params:{type: schema142.properties.max_completion_tokens.type},message:"must be integer,null",schema:schema142.properties.max_completion_tokens.type,parentSchema:schema142.properties.max_completion_tokens,data:data6}];
return false;
}
var valid0 = _errs13 === errors;
}
else {
var valid0 = true;
}
}
}
}
}
}
}
}
else {
validate106.errors = [{instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema142.type,parentSchema:schema142,data}];
return false;
}
}
validate106.errors = vErrors;
return errors === 0;
}

